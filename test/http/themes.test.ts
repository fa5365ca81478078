import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { CHANGED_BYTES_PER_DAY, THEME_BYTES_MAX } from '../../src/domain/theme/theme.decider.js';
import type { ApiClient, Json } from '../support/api-client.js';
import {
  errorBody,
  outcome,
  refusal,
  shareService,
  type TestTenant,
} from '../support/running-service.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

/** Theme variables over HTTP. */

let running: Awaited<ReturnType<typeof shareService>>;
let receiver: WebhookReceiver;
let tenant: TestTenant;
let api: ApiClient;

beforeAll(async () => {
  running = await shareService();
  receiver = await startWebhookReceiver();
});
beforeEach(async () => {
  tenant = await running.service.createTenant();
  api = tenant.live;
});
afterAll(async () => {
  await running.end();
  await receiver.stop();
});
jest.setTimeout(180_000);

const DEFAULT = '/theme/variables/instance';
const of = (locale: string): string => `/theme/${locale}/variables/instance`;
const patch = (path: string, body: unknown, options = {}, client = api) =>
  client.call('PATCH', path, body, options);
const WHOLE = { jsOptions: {}, widget: {}, email: {} };
const page = (members: Json) => ({ page: members });

async function get(path = DEFAULT, client = api): Promise<Json> {
  const { status, body } = await client.get(path);
  expect(status).toBe(200);
  return body;
}

async function put(path: string, body: Json, client = api): Promise<void> {
  expect(outcome(await client.put(path, body))).toEqual({ status: 204, body: undefined });
}

test('the schema is JSON Schema, and what is shown fits it', async () => {
  const { status, headers, body } = await api.get('/theme/variables/schema');
  expect([status, headers.get('content-type')]).toEqual([
    200,
    'application/schema+json; charset=utf-8',
  ]);
  expect(body).toMatchObject({ type: 'object', required: ['jsOptions', 'widget', 'email'] });
  const validate = addFormats.default(new Ajv2020({ strict: true })).compile(body);
  for (const shown of [await get(), await get(of('fr'))]) {
    expect([validate(shown), validate.errors]).toEqual([true, null]);
    expect(shown).toEqual(BUILT_IN_THEME);
  }
});

test('without a mail server no preview goes out', async () => {
  const sent = await api.post('/theme/email/WELCOME/preview?sendTo=ann@mail.example');
  expect(outcome(sent)).toEqual(refusal(503, 'UNAVAILABLE'));
});

test('PUT replaces the default, and locales without values show it', async () => {
  const values = { ...WHOLE, ...page({ heading: 'Hi {{user.firstName}}' }), ours: { kept: [1] } };
  const { status, headers } = await api.put(DEFAULT, values);
  expect([status, headers.get('ledger-position')]).toEqual([204, expect.any(String)]);
  expect(await get()).toEqual(values);
  expect(await get(of('fr_CA'))).toEqual(values);
  await put(DEFAULT, WHOLE);
  expect(await get()).toEqual(WHOLE);
});

test('PATCH changes members of what is shown, and null removes one', async () => {
  const patched = await patch(DEFAULT, page({ heading: 'Hello', logoUrl: null }));
  const { logoUrl: _, ...others } = BUILT_IN_THEME.page;
  const expected = { ...BUILT_IN_THEME, page: { ...others, heading: 'Hello' } };
  expect(outcome(patched)).toEqual({ status: 200, body: expected });
  expect(patched.headers.get('ledger-position')).toEqual(expect.any(String));
  expect(await get()).toEqual(expected);
});

test('DELETE answers with the own values, once', async () => {
  const values = { ...WHOLE, ...page({ heading: 'f' }) };
  await put(of('fr'), values);
  const removed = await api.call('DELETE', of('fr'));
  expect(outcome(removed)).toEqual({ status: 200, body: values });
  expect(removed.headers.get('ledger-position')).toEqual(expect.any(String));
  expect(await get(of('fr'))).toEqual(BUILT_IN_THEME);
  expect(outcome(await api.call('DELETE', of('fr')))).toEqual(refusal(404, 'THEME_NOT_FOUND'));
  expect(outcome(await api.call('DELETE', DEFAULT))).toEqual(refusal(405, 'METHOD_NOT_ALLOWED'));
});

test('live and test mode have themes of their own', async () => {
  await put(DEFAULT, { ...WHOLE, ...page({ heading: 'test' }) }, tenant.test);
  await put(of('fr'), { ...WHOLE, ...page({ heading: 'test fr' }) }, tenant.test);
  expect(await get()).toEqual(BUILT_IN_THEME);
  expect(await get(of('fr'))).toEqual(BUILT_IN_THEME);
  expect(await get(of('fr'), tenant.test)).toMatchObject(page({ heading: 'test fr' }));
  const other = await running.service.createTenant();
  expect(await get(of('fr'), other.test)).toEqual(BUILT_IN_THEME);
});

test.each(['FR', 'fra', 'fr-CA', 'fr_ca', 'fr_CAN', 'f', '_CA', 'en_US%2F..', '%66r%0a'])(
  '%s is no locale',
  async (locale) => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      expect(
        outcome(await api.call(method, of(locale), method === 'GET' ? undefined : WHOLE)),
      ).toEqual(refusal(400, 'BAD_REQUEST', 'RS039'));
  },
);

test('a document with faults is refused with a line for each, and nothing changes', async () => {
  await put(DEFAULT, WHOLE);
  await put(of('fr'), WHOLE);
  const faulty = {
    jsOptions: {},
    widget: { CONVERSION_WIDGET: { cta: { content: { buttonColor: 'red' } } } },
    email: { WELCOME: { configuration: { subject: 'a\r\nBcc: b' } } },
    page: { text: '{{constructor}}', siteUrl: 'javascript:alert(1)' },
  };
  const lines = [
    '/widget/CONVERSION_WIDGET/cta/content/buttonColor is none: A colour: #rgb or #rrggbb',
    '/email/WELCOME/configuration/subject must be one line',
    '/page/text not allowed in a path: constructor (line 1)',
    '/page/siteUrl must be an absolute http(s) address',
  ];
  for (const path of [DEFAULT, of('fr')])
    for (const method of ['PUT', 'PATCH'])
      expect(outcome(await api.call(method, path, faulty))).toEqual({
        status: 400,
        body: { ...errorBody(400, 'VALIDATION_FAILED'), validationErrors: lines },
      });
  // Wanted are the three members; a patch has not to name them.
  expect((await api.put(DEFAULT, { widget: {} })).body['validationErrors']).toEqual([
    '/ lacks jsOptions',
    '/ lacks email',
  ]);
  for (const raw of ['[]', 'null', '"text"', ''])
    for (const method of ['PUT', 'PATCH'])
      expect(outcome(await api.call(method, DEFAULT, undefined, { raw }))).toEqual({
        status: 400,
        body: { ...errorBody(400, 'VALIDATION_FAILED'), validationErrors: ['/ must be object'] },
      });
  expect(outcome(await api.put(DEFAULT, undefined, { raw: '{"__proto__":{}}' }))).toEqual(
    refusal(400, 'BAD_REQUEST'),
  );
  expect(await get()).toEqual(WHOLE);
  expect(await get(of('fr'))).toEqual(WHOLE);
});

test('256 KiB are the limit, of a document and of what a patch makes of one', async () => {
  const room = THEME_BYTES_MAX - JSON.stringify({ ...WHOLE, ours: '' }).length;
  // Bytes are counted, not characters.
  const largest = { ...WHOLE, ours: 'ü'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2) };
  await put(DEFAULT, largest);
  const over = { ...WHOLE, ours: `${largest.ours}x` };
  expect(outcome(await api.put(DEFAULT, over))).toEqual(refusal(413, 'PAYLOAD_TOO_LARGE'));
  expect(outcome(await patch(DEFAULT, page({ text: 'x' })))).toEqual(
    refusal(413, 'PAYLOAD_TOO_LARGE'),
  );
  expect(await get()).toEqual(largest);
});

test('a repeated write has the first answer, and no second effect', async () => {
  const key = 'once';
  const first = await patch(of('fr'), page({ heading: 'f' }), { key });
  await put(of('fr'), { ...WHOLE, ...page({ heading: 'later' }) });
  const again = await patch(of('fr'), page({ heading: 'f' }), { key });
  expect(outcome(again)).toEqual(outcome(first));
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.headers.get('ledger-position')).toBe(first.headers.get('ledger-position'));
  expect(await get(of('fr'))).toMatchObject(page({ heading: 'later' }));
  expect(outcome(await patch(of('fr'), page({ heading: 'g' }), { key }))).toEqual(
    refusal(422, 'IDEMPOTENCY_KEY_REUSED'),
  );
  // A refusal is kept, too; that of a faulty document is not: it is mended and sent again.
  const absent = () => api.call('DELETE', of('pt'), undefined, { key: 'absent' });
  expect(outcome(await absent())).toEqual(refusal(404, 'THEME_NOT_FOUND'));
  expect((await absent()).headers.get('idempotency-replayed')).toBe('true');
  const bad = await patch(DEFAULT, page({ color: 'red' }), { key: 'mended' });
  expect(outcome(bad)).toEqual(refusal(400, 'VALIDATION_FAILED'));
  expect((await patch(DEFAULT, page({ color: '#f00' }), { key: 'mended' })).status).toBe(200);
});

test('what a day does not allow is refused until there is room again', async () => {
  const text = 'x'.repeat(THEME_BYTES_MAX - 1_000);
  const changes = Math.floor(CHANGED_BYTES_PER_DAY / text.length);
  let refusedAt: number | undefined;
  // One more than the limit, and what drains away meanwhile on a slow machine.
  for (let made = 0; made < 2 * changes && refusedAt === undefined; made++) {
    const answer = await api.put(DEFAULT, { ...WHOLE, ours: `${made} ${text}` });
    if (answer.status === 204) continue;
    expect(outcome(answer)).toEqual(refusal(429, 'RATE_LIMITED', 'RS033'));
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    refusedAt = made;
  }
  expect(refusedAt).toBeGreaterThanOrEqual(changes);
  expect((await get())['ours']).toMatch(new RegExp(`^${(refusedAt ?? 0) - 1} x`));
  // The other mode and other tenants have limits of their own.
  await put(DEFAULT, WHOLE, tenant.test);
});
