// Over 5 s where it is the first of its worker, which starts the shared service.
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { THEME_BYTES_MAX } from '../../src/domain/theme/theme.decider.js';
import { themeRefused } from '../../src/http/themes/theme-refused.js';
import type { Json } from '../support/api-client.js';
import {
  outcome,
  useSharedService,
  expectAnswer,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';
import { openForEach } from '../support/opened.js';

const running = useSharedService();
const tenant = useTenant(running, { each: true });
const api = openForEach(() => tenant.live);

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
  expectAnswer(await client.put(path, body), 204, undefined);
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

test('without a mail server no preview is sent', async () => {
  const sent = await api.post('/theme/email/WELCOME/preview?sendTo=ann@mail.example');
  expectRefusal(sent, 503, 'UNAVAILABLE');
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
  expectAnswer(patched, 200, expected);
  expect(patched.headers.get('ledger-position')).toEqual(expect.any(String));
  expect(await get()).toEqual(expected);
});

test('DELETE answers with the own values, once', async () => {
  const values = { ...WHOLE, ...page({ heading: 'f' }) };
  await put(of('fr'), values);
  const removed = await api.call('DELETE', of('fr'));
  expectAnswer(removed, 200, values);
  expect(removed.headers.get('ledger-position')).toEqual(expect.any(String));
  expect(await get(of('fr'))).toEqual(BUILT_IN_THEME);
  expectRefusal(await api.call('DELETE', of('fr')), 404, 'THEME_NOT_FOUND');
  expectRefusal(await api.call('DELETE', DEFAULT), 405, 'METHOD_NOT_ALLOWED');
});

test.each(['fra', 'fr-CA', 'en_US%2F..'])('%s is no locale', async (locale) => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
    expectRefusal(
      await api.call(method, of(locale), method === 'GET' ? undefined : WHOLE),
      400,
      'BAD_REQUEST',
      'RS039',
    );
});

test('256 KiB are the limit, of a document and of what a patch makes of one', async () => {
  const room = THEME_BYTES_MAX - JSON.stringify({ ...WHOLE, ours: '' }).length;
  // Bytes are counted, not characters.
  const largest = { ...WHOLE, ours: 'ü'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2) };
  await put(DEFAULT, largest);
  const over = { ...WHOLE, ours: `${largest.ours}x` };
  expectRefusal(await api.put(DEFAULT, over), 413, 'PAYLOAD_TOO_LARGE');
  expectRefusal(await patch(DEFAULT, page({ text: 'x' })), 413, 'PAYLOAD_TOO_LARGE');
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
  expectRefusal(
    await patch(of('fr'), page({ heading: 'g' }), { key }),
    422,
    'IDEMPOTENCY_KEY_REUSED',
  );
  // A refusal is kept, too; that of a faulty document is not: it is mended and sent again.
  const absent = () => api.call('DELETE', of('pt'), undefined, { key: 'absent' });
  expectRefusal(await absent(), 404, 'THEME_NOT_FOUND');
  expect((await absent()).headers.get('idempotency-replayed')).toBe('true');
  const bad = await patch(DEFAULT, page({ color: 'red' }), { key: 'mended' });
  expectRefusal(bad, 400, 'VALIDATION_FAILED');
  expect((await patch(DEFAULT, page({ color: '#f00' }), { key: 'mended' })).status).toBe(200);
});

test('more changes than a day allows are answered with 429 and the seconds to wait', () => {
  const refused = themeRefused({ refused: 'THEME_CHANGED_TOO_MUCH', waitMs: 1_500 });
  expect([refused.getStatus(), refused.code, refused.headers]).toEqual([
    429,
    'RATE_LIMITED',
    { 'Retry-After': '2' },
  ]);
});
