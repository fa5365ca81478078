import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import {
  resendDeliveries,
  showDeliveries,
  showDelivery,
  showEndpoints,
} from '../../src/operations/webhooks/webhook-commands.js';
import { OPERATOR } from '../../src/operations/audit.js';
import type { Mode } from '../../src/domain/scope.js';
import type { Json } from '../support/api-client.js';
import { until } from '../support/projected-ledger.js';
import {
  outcome,
  personal,
  refusal,
  RunningService,
  shareService,
  type TestTenant,
} from '../support/running-service.js';
import {
  startWebhookReceiver,
  type ReceivedRequest,
  type WebhookReceiver,
} from '../support/webhook-receiver.js';

/** Webhooks from the routes to a receiver: subscriptions, deliveries, retries. */

interface Told extends Json {
  readonly id: string;
  readonly type: string;
}

let running: Awaited<ReturnType<typeof shareService>>;
let receiver: WebhookReceiver;
let tenant: TestTenant;
let made = 0;

beforeAll(async () => {
  running = await shareService();
  receiver = await startWebhookReceiver();
});
beforeEach(async () => {
  tenant = await running.service.createTenant();
});
afterAll(async () => {
  await running.end();
  await receiver.stop();
});
jest.setTimeout(120_000);

const WITHIN_MS = 60_000;
const aPath = (): string => `/hook-${(made += 1)}`;
const told = ({ body }: ReceivedRequest): Told => JSON.parse(body.toString()) as Told;
const at = (url: string, rest = ''): string => `/subscription/${encodeURIComponent(url)}${rest}`;
const core = () => running.service.service.core;
const scope = (mode: Mode = 'live') => ({ tenant: tenant.alias, mode });

async function subscribe(
  path: string,
  client = tenant.live,
): Promise<{ endpointUrl: string; secret: string }> {
  const endpointUrl = receiver.url(path);
  const { status, body } = await client.post<{ secret: string }>('/subscription', { endpointUrl });
  expect(status).toBe(201);
  return { endpointUrl, secret: body.secret };
}

async function aUser(client = tenant.live): Promise<{ accountId: string; id: string }> {
  const accountId = personal('acc');
  const id = personal('user');
  const { status } = await client.put(`/open/account/${accountId}/user/${id}`, {
    id,
    accountId,
    firstName: personal('first'),
    email: `${personal('mail')}@example.com`,
  });
  expect(status).toBe(200);
  return { accountId, id };
}

const reward = ({ accountId, id }: { accountId: string; id: string }, assignedCredit = 5) =>
  tenant.live.post(`/rewards/account/${accountId}/user/${id}`, {
    type: 'CREDIT',
    unit: 'CENTS',
    assignedCredit,
  });

describe('a subscription', () => {
  test('has a secret that is shown at the subscription, and the same URL is the same one', async () => {
    const endpointUrl = receiver.url(aPath());
    const first = await tenant.live.post('/subscription', { endpointUrl, name: 'crm' });
    expect(outcome(first)).toStrictEqual({
      status: 201,
      body: { endpointUrl, name: 'crm', secret: expect.stringMatching(/^whsec_.{32}/) as unknown },
    });
    expect(first.headers.get('ledger-position')).toMatch(/./);
    const again = await tenant.live.post('/subscription', { endpointUrl, name: 'crm' });
    expect(outcome(again)).toStrictEqual(outcome(first));
    const renamed = await tenant.live.post('/subscription', { endpointUrl });
    expect(renamed.body).toStrictEqual({ ...first.body, name: null });
    expect((await tenant.live.get('/subscription')).body).toStrictEqual([
      { endpointUrl, name: null },
    ]);
    expect((await tenant.test.get('/subscription/')).body).toStrictEqual([]);
  });

  test('ends, in its own mode alone, and is unknown then', async () => {
    const { endpointUrl } = await subscribe(aPath());
    await subscribe(aPath(), tenant.test);
    expect(outcome(await tenant.test.call('DELETE', at(endpointUrl)))).toStrictEqual(
      refusal(404, 'SUBSCRIPTION_NOT_FOUND'),
    );
    const key = 'ended once';
    const ended = await tenant.live.call('DELETE', at(endpointUrl), undefined, { key });
    expect(outcome(ended)).toStrictEqual({ status: 204, body: undefined });
    const repeated = await tenant.live.call('DELETE', at(endpointUrl), undefined, { key });
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([204, 'true']);
    expect((await tenant.live.get('/subscription')).body).toStrictEqual([]);
    for (const again of [
      await tenant.live.call('DELETE', at(endpointUrl, '/')),
      await tenant.live.post(at(endpointUrl, '/test')),
    ])
      expect(outcome(again)).toStrictEqual(refusal(404, 'SUBSCRIPTION_NOT_FOUND'));
    expect((await tenant.test.get<Json[]>('/subscription')).body).toHaveLength(1);
  });

  test.each([
    ['no URL', 'nope'],
    ['another scheme', 'ftp://example.com/'],
    ['credentials', 'https://user:secret@example.com/'],
    ['a fragment', 'https://example.com/#here'],
    ['more than 2000 characters', `https://example.com/${'x'.repeat(2_000)}`],
    ['no text', 7],
    ['nothing', undefined],
  ])('with %s is refused', async (_, endpointUrl) => {
    expect(outcome(await tenant.live.post('/subscription', { endpointUrl }))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });

  test.each(['http://10.1.2.3/', 'http://[::ffff:10.0.0.1]/', 'http://169.254.169.254/latest'])(
    'to %s is not allowed',
    async (endpointUrl) => {
      expect(outcome(await tenant.live.post('/subscription', { endpointUrl }))).toStrictEqual(
        refusal(400, 'ENDPOINT_NOT_ALLOWED'),
      );
    },
  );

  test('of 2000 characters can be named in a path; there are 50 of a mode at most', async () => {
    const long = receiver.url(`/${'%20'.repeat(600)}`);
    await tenant.live.post('/subscription', { endpointUrl: `${long}${'y'.repeat(100)}` });
    expect((await tenant.live.call('DELETE', at(`${long}${'y'.repeat(100)}`))).status).toBe(204);
    for (let n = 0; n < 50; n++) await subscribe(`/many-${n}`);
    const endpointUrl = receiver.url('/one-more');
    expect(outcome(await tenant.live.post('/subscription', { endpointUrl }))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    await subscribe('/many-7');
    await subscribe('/many-7', tenant.test);
  });
});

test('what happens arrives signed, the same bytes at every endpoint, from the subscription on', async () => {
  await aUser();
  const [one, two, other] = [aPath(), aPath(), aPath()];
  const { secret } = await subscribe(one);
  await subscribe(two);
  await subscribe(other, tenant.test);
  const user = await aUser();
  expect((await reward(user)).status).toBe(201);
  const received = await receiver.requests(one, 4);
  expect(received.map((request) => told(request).type).sort()).toEqual([
    'coupon.created',
    'reward.created',
    'user.created',
    'user.reward.balance.changed',
  ]);
  for (const { headers, body } of received) {
    const envelope = JSON.parse(body.toString()) as Told;
    expect(Object.keys(envelope)).toEqual(['id', 'type', 'tenantAlias', 'live', 'created', 'data']);
    expect(envelope).toMatchObject({ tenantAlias: tenant.alias, live: true });
    expect(headers['content-type']).toBe('application/json');
    expect(headers['webhook-id']).toBe(envelope.id);
    expect(new Webhook(secret).verify(body.toString(), { ...headers })).toEqual(envelope);
    expect(JSON.stringify(envelope)).toBe(body.toString());
  }
  const bodies = (requests: readonly ReceivedRequest[]): string[] =>
    requests.map(({ body }) => body.toString()).sort();
  expect(bodies(await receiver.requests(two, 4))).toEqual(bodies(received));

  await aUser(tenant.test);
  const ofTest = await receiver.requests(other, 2);
  expect(ofTest.map(told)).toMatchObject([{ live: false }, { live: false }]);
  expect(receiver.receivedAt(one)).toHaveLength(4);
});

test('a test event goes to one endpoint, once for a key', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  for (let n = 0; n < 2; n++)
    expect((await tenant.live.post(at(endpointUrl, '/test'), {}, { key: 'once' })).status).toBe(
      204,
    );
  expect((await tenant.live.post(at(endpointUrl, '/test/'))).status).toBe(204);
  const events = (await receiver.requests(path, 2)).map(told);
  expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  for (const event of events)
    expect(event).toMatchObject({ type: 'test', data: { endpointUrl }, live: true });
});

test('test events are limited for a tenant, with a key and in both modes', async () => {
  await core().tenantCommands.execute(tenant.alias, {
    type: 'ChangeOpenRules',
    changes: { rateLimits: { 'test-webhook': 3 } },
    now: Date.now(),
  });
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  await subscribe(path, tenant.test);
  const send = (client = tenant.live) => client.post(at(endpointUrl, '/test'));
  const first = await send();
  expect([
    first.status,
    first.headers.get('ratelimit-policy'),
    first.headers.get('ratelimit'),
  ]).toEqual([204, '"test-webhook";q=3;w=3600', expect.stringMatching(/^"test-webhook";r=2;t=/)]);
  expect([(await send(tenant.test)).status, (await send()).status]).toEqual([204, 204]);
  for (const client of [tenant.live, tenant.test]) {
    const over = await send(client);
    expect(outcome(over)).toStrictEqual(refusal(429, 'RATE_LIMITED', 'RS033'));
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  await receiver.requests(path, 3);
  const deliveries = await core().pool.query(
    'select from ledger.webhook_deliveries where tenant = $1',
    [tenant.alias],
  );
  expect(deliveries.rowCount).toBe(3);
  const other = await running.service.createTenant();
  await subscribe(path, other.live);
  expect((await send(other.live)).status).toBe(204);
});

test('changes of subscriptions are limited for a tenant and mode, with a key', async () => {
  await core().tenantCommands.execute(tenant.alias, {
    type: 'ChangeOpenRules',
    changes: { rateLimits: { 'change-webhooks': 3 } },
    now: Date.now(),
  });
  const { endpointUrl } = await subscribe(aPath());
  const end = () => tenant.live.call('DELETE', at(endpointUrl), undefined);
  const again = () => tenant.live.post('/subscription', { endpointUrl });
  const ended = await end();
  expect([ended.status, ended.headers.get('ratelimit')]).toEqual([
    204,
    expect.stringMatching(/^"change-webhooks";r=1;t=/),
  ]);
  expect((await again()).status).toBe(201);
  const before = await running.service.eventsOf(tenant);
  for (const change of [again, end]) {
    const over = await change();
    expect(outcome(over)).toStrictEqual(refusal(429, 'RATE_LIMITED', 'RS033'));
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect(await running.service.eventsOf(tenant)).toBe(before);
  expect((await tenant.live.get('/subscription')).status).toBe(200);
  expect((await tenant.test.post('/subscription', { endpointUrl })).status).toBe(201);
});

test('a failed delivery is sent again with the same id and body, and its attempts are shown', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  await receiver.behave(
    path,
    { kind: 'answer', status: 500, body: 'not now' },
    { kind: 'answer', status: 200 },
  );
  expect((await tenant.live.post(at(endpointUrl, '/test'))).status).toBe(204);
  const [first, second] = await receiver.requests(path, 2);
  expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true);
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  const delivered = async () =>
    (await showDeliveries(core(), scope(), { state: 'DELIVERED', limit: 10 })) as readonly {
      id: string;
    }[];
  await until(async () => (await delivered()).length === 1, WITHIN_MS);
  const [delivery] = await delivered();
  expect(await showDelivery(core(), scope(), delivery?.id ?? '')).toMatchObject({
    eventId: first?.headers['webhook-id'],
    type: 'test',
    endpointUrl,
    state: 'DELIVERED',
    attempts: [
      { status: 500, answer: 'not now', reason: null },
      { status: 200, answer: null, reason: null },
    ],
  });
  expect(await resendDeliveries(core(), scope(), { id: delivery?.id ?? '' })).toEqual({
    resent: 1,
  });
  const [, , third] = await receiver.requests(path, 3);
  expect(third?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
});

test('410 disables the endpoint: it is shown, gets nothing, and a subscription enables it', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  await receiver.behave(path, { kind: 'answer', status: 410 }, { kind: 'answer' });
  await tenant.live.post(at(endpointUrl, '/test'));
  const state = async () =>
    ((await showEndpoints(core(), scope())) as readonly { state: string }[]).map(
      (known) => known.state,
    );
  await until(async () => (await state())[0] === 'DISABLED', WITHIN_MS);
  expect((await tenant.live.get('/subscription')).body).toStrictEqual([
    { endpointUrl, name: null },
  ]);
  const other = aPath();
  await subscribe(other);
  await aUser();
  await receiver.requests(other, 2);
  expect(receiver.receivedAt(path)).toHaveLength(1);
  await subscribe(path);
  expect(await state()).toEqual(['ACTIVE', 'ACTIVE']);
  await aUser();
  await receiver.requests(path, 3);
});

test('a late 410 to an endpoint that was subscribed anew disables nothing', async () => {
  const { webhooks } = core();
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  const old = await webhooks.find(scope(), endpointUrl);
  expect((await tenant.live.call('DELETE', at(endpointUrl))).status).toBe(204);
  await subscribe(path);
  const meta = {
    scope: scope(),
    commandId: randomUUID(),
    correlationId: 'c',
    causationId: 'c',
    actor: OPERATOR,
    idempotency: null,
  };
  const { endpointId = '', activeSince = 0 } = old ?? {};
  await webhooks.disable(meta, { endpointId, activeSince, because: 'GONE' });
  expect((await webhooks.find(scope(), endpointUrl))?.disabled).toBeNull();
});

test('another name is no relief for a failing endpoint', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  await receiver.behave(path, { kind: 'answer', status: 500 });
  await aUser();
  await aUser();
  const state = async () =>
    ((await showEndpoints(core(), scope())) as readonly { state: string }[])[0]?.state;
  await until(async () => (await state()) === 'FAILING', WITHIN_MS);
  await tenant.live.post('/subscription', { endpointUrl, name: 'another name' });
  await until(
    async () =>
      (
        await core().pool.query(
          "select from ledger.webhook_endpoints where tenant = $1 and state = 'ACTIVE'",
          [tenant.alias],
        )
      ).rowCount === 1,
    WITHIN_MS,
  );
  expect(await state()).toBe('FAILING');
});

test('whoever is forgotten is in no retry, in no row and in no resend', async () => {
  const path = aPath();
  await subscribe(path);
  await receiver.behave(path, { kind: 'answer', status: 503 });
  const user = await aUser();
  await receiver.requests(path, 2);
  expect(
    (await tenant.live.call('DELETE', `/open/account/${user.accountId}/user/${user.id}`)).status,
  ).toBe(204);
  await receiver.behave(path, { kind: 'answer' });
  const before = receiver.receivedAt(path).length;
  const waiting = async () =>
    (await showDeliveries(core(), scope(), { limit: 100 })) as readonly {
      id: string;
      state: string;
    }[];
  for (const { id } of await waiting()) await resendDeliveries(core(), scope(), { id });
  await until(async () => (await waiting()).every(({ state }) => state !== 'PENDING'), WITHIN_MS);
  const { endpointUrl } = await subscribe(path);
  await tenant.live.post(at(endpointUrl, '/test'));
  await receiver.until((all) => all.filter((request) => request.path === path).length > before);
  expect(
    receiver
      .receivedAt(path)
      .slice(before)
      .map((request) => told(request).type),
  ).toEqual(['test']);
  const { rows } = await core().pool.query<{ row: string }>(
    "select d::text || coalesce(a::text, '') as row from ledger.webhook_deliveries d left join ledger.webhook_attempts a on a.delivery_id = d.id",
  );
  expect(rows.filter(({ row }) => row.includes(user.id) || row.includes(user.accountId))).toEqual(
    [],
  );
});

test('a second process on the same stores sends no webhook twice, and may end', async () => {
  const path = aPath();
  await subscribe(path);
  await aUser();
  await receiver.requests(path, 2);
  const second = await RunningService.start(running.stores, {
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  });
  try {
    for (let n = 0; n < 5; n++) await aUser();
    const all = await receiver.requests(path, 12);
    expect(new Set(all.map((request) => told(request).id)).size).toBe(12);
  } finally {
    await second.stop();
  }
  await aUser();
  await receiver.requests(path, 14);
  expect(receiver.receivedAt(path)).toHaveLength(14);
});
