import { Webhook } from 'standardwebhooks';
import {
  listedDeliveries,
  resendDeliveries,
  showDelivery,
} from '../../src/operations/webhooks/deliveries.js';
import { showEndpoints } from '../../src/operations/webhooks/endpoints.js';
import type { Mode } from '../../src/domain/scope.js';
import type { Json } from '../support/api-client.js';
import { aPerson, give, type Person } from '../support/people.js';
import { eventually } from '../support/embedded.js';
import {
  personal,
  useSharedService,
  expectAnswer,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';
import { startWebhookReceiver, type ReceivedRequest } from '../support/webhook-receiver.js';
import { openOnce } from '../support/opened.js';
import { OperationCalls } from '../../src/http/operations/operation-calls.js';
import { deliveryDetails } from '../../src/operations/webhooks/delivery-request.js';

/**
 * Webhooks from the routes to a receiver: subscriptions, deliveries, retries. Over 5 s: retries are
 * waited for.
 */

interface ReceivedEvent extends Json {
  readonly id: string;
  readonly type: string;
}

const running = useSharedService();
const tenant = useTenant(running, { each: true });
const receiver = openOnce(startWebhookReceiver, 'stop');
let made = 0;
jest.setTimeout(120_000);

const aPath = (): string => `/hook-${(made += 1)}`;
const eventOf = ({ body }: ReceivedRequest): ReceivedEvent =>
  JSON.parse(body.toString()) as ReceivedEvent;
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

const aUser = (client = tenant.live): Promise<Person> =>
  aPerson(client, { firstName: personal('first'), email: `${personal('mail')}@example.com` });

test('a subscription has a secret that is shown at the subscription, and the same URL is the same one', async () => {
  const endpointUrl = receiver.url(aPath());
  const first = await tenant.live.post('/subscription', { endpointUrl, name: 'crm' });
  expectAnswer(first, 201, {
    endpointUrl,
    name: 'crm',
    secret: expect.stringMatching(/^whsec_.{32}/) as unknown,
  });
  expect(first.headers.get('ledger-position')).toMatch(/./);
  const again = await tenant.live.post('/subscription', { endpointUrl, name: null });
  expectAnswer(again, 201, { endpointUrl, name: null });
  expect((await tenant.live.get('/subscription')).body).toStrictEqual([
    { endpointUrl, name: null },
  ]);
  expect((await tenant.test.get('/subscription/')).body).toStrictEqual([]);
});

test('a subscription ends, in its own mode alone, and is unknown then', async () => {
  const { endpointUrl } = await subscribe(aPath());
  await subscribe(aPath(), tenant.test);
  expectRefusal(await tenant.test.call('DELETE', at(endpointUrl)), 404, 'SUBSCRIPTION_NOT_FOUND');
  const key = 'ended once';
  const ended = await tenant.live.call('DELETE', at(endpointUrl), undefined, { key });
  expectAnswer(ended, 204, undefined);
  const repeated = await tenant.live.call('DELETE', at(endpointUrl), undefined, { key });
  expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([204, 'true']);
  expect((await tenant.live.get('/subscription')).body).toStrictEqual([]);
  for (const again of [
    await tenant.live.call('DELETE', at(endpointUrl, '/')),
    await tenant.live.post(at(endpointUrl, '/test')),
  ])
    expectRefusal(again, 404, 'SUBSCRIPTION_NOT_FOUND');
  expect((await tenant.test.get<Json[]>('/subscription')).body).toHaveLength(1);
});

test.each([
  ['nope', 'BAD_REQUEST'],
  [undefined, 'BAD_REQUEST'],
  ['http://169.254.169.254/latest', 'ENDPOINT_NOT_ALLOWED'],
])('a subscription to %s is refused: %s', async (endpointUrl, code) => {
  expectRefusal(await tenant.live.post('/subscription', { endpointUrl }), 400, code);
});

test('a subscription of 2000 characters can be named in a path', async () => {
  const endpointUrl = `${receiver.url(`/${'%20'.repeat(600)}`)}${'y'.repeat(100)}`;
  await tenant.live.post('/subscription', { endpointUrl });
  expect((await tenant.live.call('DELETE', at(endpointUrl))).status).toBe(204);
});

test('events arrive signed, with the same bytes at every endpoint, from the subscription on', async () => {
  await aUser();
  const [one, two, other] = [aPath(), aPath(), aPath()];
  const { secret } = await subscribe(one);
  await subscribe(two);
  await subscribe(other, tenant.test);
  const user = await aUser();
  await give(tenant.live, user);
  const received = await receiver.requests(one, 4);
  expect(received.map((request) => eventOf(request).type).sort()).toEqual([
    'coupon.created',
    'reward.created',
    'user.created',
    'user.reward.balance.changed',
  ]);
  for (const { headers, body } of received) {
    const envelope = JSON.parse(body.toString()) as ReceivedEvent;
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

  // Bodies are made when they are sent: rows name no person.
  const { rows } = await core().pool.query<{ row: string }>(
    'select d::text as row from ledger.webhook_deliveries d where tenant = $1',
    [tenant.alias],
  );
  expect(rows.length).toBeGreaterThan(3);
  expect(JSON.stringify(rows)).not.toContain(user.accountId);
  expect(JSON.stringify(rows)).not.toContain(user.id);

  await aUser(tenant.test);
  const ofTest = await receiver.requests(other, 2);
  expect(ofTest.map(eventOf)).toMatchObject([{ live: false }, { live: false }]);
  expect(receiver.receivedAt(one)).toHaveLength(4);
});

test('an endpoint receives the types that it names, until they are cleared', async () => {
  const path = aPath();
  const endpointUrl = receiver.url(path);
  const subscribed = async (eventTypes?: unknown) => {
    const body = { endpointUrl, ...(eventTypes !== undefined && { eventTypes }) };
    const { status } = await tenant.live.post('/subscription', body);
    const [shown] = (await tenant.live.get<Json[]>('/subscription')).body;
    return [status, shown?.['eventTypes']];
  };
  expect(await subscribed()).toEqual([201, undefined]);
  expect(await subscribed(['coupon.created', 'test'])).toEqual([201, ['coupon.created', 'test']]);
  expect(await subscribed()).toEqual([201, ['coupon.created', 'test']]);
  for (const wrong of [[], ['constructor'], 'test', {}])
    expect(await subscribed(wrong)).toEqual([400, ['coupon.created', 'test']]);
  await aUser();
  await tenant.live.post(at(endpointUrl, '/test'), {});
  const received = await receiver.requests(path, 2);
  const types = received.map(({ body }) => (JSON.parse(body.toString()) as Json)['type']);
  expect(types.sort()).toEqual(['coupon.created', 'test']);
  expect(await subscribed(null)).toEqual([201, undefined]);
  await aUser();
  await receiver.requests(path, 4);
});

test('a test event is sent to one endpoint, once per key', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  for (let n = 0; n < 2; n++)
    expect((await tenant.live.post(at(endpointUrl, '/test'), {}, { key: 'once' })).status).toBe(
      204,
    );
  expect((await tenant.live.post(at(endpointUrl, '/test/'))).status).toBe(204);
  const events = (await receiver.requests(path, 2)).map(eventOf);
  expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  for (const event of events)
    expect(event).toMatchObject({ type: 'test', data: { endpointUrl }, live: true });
});

test('test events are limited for a tenant, with a key and in both modes', async () => {
  const changes = { rateLimits: { 'test-webhook': 3 } };
  await running.service.change(tenant.alias, { type: 'ChangeOpenRules', changes });
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  await subscribe(path, tenant.test);
  const send = (client = tenant.live) => client.post(at(endpointUrl, '/test'));
  expect((await send()).headers.get('ratelimit-policy')).toBe('"test-webhook";q=3;w=3600');
  expect([(await send(tenant.test)).status, (await send()).status]).toEqual([204, 204]);
  for (const client of [tenant.live, tenant.test]) {
    const over = await send(client);
    expectRefusal(over, 429, 'RATE_LIMITED', 'RS033');
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

test('a failed delivery is sent again with the same id and body, and its attempts are shown', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  receiver.behave(
    path,
    { kind: 'answer', status: 500, body: 'not now' },
    { kind: 'answer', status: 200 },
  );
  expect((await tenant.live.post(at(endpointUrl, '/test'))).status).toBe(204);
  const [first, second] = await receiver.requests(path, 2);
  expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true);
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  const delivered = async () =>
    (await listedDeliveries(core(), scope(), { state: 'DELIVERED', limit: 10 })) as readonly {
      id: string;
    }[];
  await eventually(async () => (await delivered()).length === 1);
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
  expect(await resendDeliveries(core(), scope(), { delivery: delivery?.id ?? '' })).toMatchObject({
    result: { resent: 1 },
  });
  const [, , third] = await receiver.requests(path, 3);
  expect(third?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
});

test('410 disables the endpoint: it is shown, gets nothing, and a subscription enables it', async () => {
  const path = aPath();
  const { endpointUrl } = await subscribe(path);
  receiver.behave(path, { kind: 'answer', status: 410 }, { kind: 'answer' });
  await tenant.live.post(at(endpointUrl, '/test'));
  const state = async () =>
    ((await showEndpoints(core(), scope())) as readonly { state: string }[]).map(
      (known) => known.state,
    );
  await eventually(async () => (await state())[0] === 'DISABLED');
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

test('a delivery shows the body that was sent, its headers without signatures, and the answer', async () => {
  await tenant.live.post('/subscription', { endpointUrl: receiver.url('/shown'), name: 'shop' });

  const ann = await aPerson(tenant.live, { firstName: 'Ann' });
  const created = await receiver.requests('/shown', 2);
  const sent = created.find(({ body }) => String(body).includes('"type":"user.created"'));
  const listed = await listedDeliveries(core(), scope(), { type: 'user.created', limit: 5 });
  const [delivery] = listed;
  if (delivery === undefined) throw new Error('no delivery is listed');

  const calls = running.service.service.app.get(OperationCalls);
  const details = () =>
    deliveryDetails(core(), scope(), { id: delivery.id, publicUrl: calls.payments.publicUrl });
  const { request, attempts } = await details();
  expect(request.body).toBe(String(sent?.body));
  const headers = new Map(request.headers);
  expect(headers.get('webhook-id')).toBe(sent?.headers['webhook-id']);
  expect(headers.get('webhook-signature')).toBe('v1,•••');
  expect([...headers.keys()].map((name) => name.toLowerCase())).toEqual(
    Object.keys(sent?.headers ?? {}).filter((name) => headers.has(name) || /^x-hook/i.test(name)),
  );
  expect(attempts).toMatchObject([{ status: 200 }]);

  await tenant.live.call('DELETE', `/open${ann.at}`);
  expect((await details()).request).toMatchObject({ body: null, missing: 'person forgotten' });
});
