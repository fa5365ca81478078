// Over 5 s: a database for each test.
import { randomUUID } from 'node:crypto';
import type { OpenTenant } from '../../src/domain/tenant/tenant.decider.js';
import { UnreadableEvent } from '../../src/event-log/event-schemas.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { putDeliveries, putEndpoints } from '../../src/webhooks/deliveries/delivery-rows.js';
import { ReceiverAnswers } from '../../src/webhooks/deliveries/receiver-answers.js';
import { WebhookSender } from '../../src/webhooks/deliveries/webhook-sender.js';
import type { PayloadData } from '../../src/webhooks/payloads/payloads.js';
import type { PostResult, PostRequest } from '../../src/webhooks/sending/webhook-post.js';
import { newEndpointSecret } from '../../src/webhooks/signing/signed-webhook.js';
import { SigningKeys } from '../../src/webhooks/signing/signing-keys.js';
import type { WebhookSubscriptions } from '../../src/webhooks/subscriptions/webhook-subscriptions.js';
import { enterWorldWith } from '../support/clock-of-process.js';
import { useDatabase } from '../support/database.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { eventually } from '../support/embedded.js';

jest.setTimeout(180_000);

afterEach(async () => {
  answersAtOnce = true;
  for (const { answer } of posts) answer();
  await sender.worker.stop();
  leaveWorld();
});
const { pool } = useDatabase(4, { each: true });
let sender: WebhookSender;
/** What was posted, by its URL, and how each of them is answered. */
let posts: { readonly url: string; readonly answer: () => void }[];
let answersAtOnce: boolean;
let keysAway: boolean;
/** How far ahead the clock of durations is. */
let laterMs: number;
let leaveWorld: () => void;
let dataOf: (eventId: string) => Promise<PayloadData>;
let isSubscribed: boolean;

const SUBSCRIBED_AT = 1_000;

const ANSWERED: PostResult = {
  kind: 'answered',
  status: 200,
  retryAfterMs: null,
  beginning: Buffer.of(),
  ms: 1,
};

function post({ url }: PostRequest): Promise<PostResult> {
  return new Promise((resolve) => {
    const answer = (): void => resolve(ANSWERED);
    posts.push({ url, answer });
    if (answersAtOnce) answer();
  });
}

beforeEach(() => {
  posts = [];
  answersAtOnce = true;
  keysAway = false;
  laterMs = 0;
  leaveWorld = enterWorldWith({ elapsed: () => performance.now() + laterMs });
  isSubscribed = true;
  dataOf = () => Promise.resolve({ kind: 'made', data: {}, people: [] });
  const sealer = new FixedSealer(Buffer.alloc(32, 1));
  const keys = new SigningKeys(pool, sealer);
  const tenantNamed = (alias: string) =>
    Promise.resolve({ alias, suspended: null } as unknown as OpenTenant);
  const subscriptions = {
    of: (tenant: OpenTenant, mode: string, endpointId: string) =>
      Promise.resolve(
        isSubscribed
          ? {
              endpointId,
              endpointUrl: `https://${tenant.alias}.example/${mode}/${endpointId}`,
              name: null,
              disabled: null,
              subscribedAt: SUBSCRIBED_AT,
              activeSince: 0,
              secrets: [newEndpointSecret()],
            }
          : undefined,
      ),
  } as unknown as WebhookSubscriptions;
  sender = new WebhookSender({
    pool,
    tenants: { find: tenantNamed, read: tenantNamed },
    subscriptions,
    payloads: { data: ({ eventId }) => dataOf(eventId) },
    keys: {
      current: () => (keysAway ? Promise.reject(new Error('no key opens it')) : keys.current()),
    },
    post: { post },
    answers: new ReceiverAnswers(sealer, new InMemorySubjectKeys()),
    presence: { id: 1 },
  });
});

const endpointsOf = (tenant: string, mode: 'live' | 'test', count: number) =>
  Array.from({ length: count }, (_, n) => ({ tenant, mode, endpointId: `${tenant}-${mode}-${n}` }));

type Named = ReturnType<typeof endpointsOf>[number];

const oneOf = (tenant: string): Named => endpointsOf(tenant, 'live', 1)[0]!;

const known = (endpoints: readonly Named[]): Promise<void> =>
  putEndpoints(
    pool,
    endpoints.map((endpoint) => ({ ...endpoint, state: 'ACTIVE', position: null })),
  );

const due = (
  endpoints: readonly Named[],
  events: readonly (string | null)[],
  subject: Readonly<Record<string, string>> = {},
): Promise<void> =>
  putDeliveries(
    pool,
    endpoints.flatMap((endpoint) =>
      events.map((eventId) => ({
        ...endpoint,
        id: randomUUID(),
        webhookId: randomUUID(),
        type: eventId === null ? ('test' as const) : ('user.created' as const),
        subject,
        event: eventId === null ? null : { stream: eventId, revision: 0n, eventId },
        created: Date.now(),
      })),
    ),
  );

const rows = async () =>
  (
    await pool.query<{ state: string; attempts: number }>(
      'select state, attempts from ledger.webhook_deliveries',
    )
  ).rows;

test('an attempt that ended while the database was away is recorded when it is back, and not repeated', async () => {
  answersAtOnce = false;
  const endpoints = endpointsOf('a', 'live', 2);
  await known(endpoints);
  await due(endpoints, [null]);
  sender.worker.loop.start();
  await eventually(() => posts.length === 2);
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const connect = jest.spyOn(pool, 'connect').mockImplementation(() => {
    throw refused;
  });
  for (const { answer } of posts) answer();
  // One of these may be of a claim from before.
  const before = connect.mock.calls.length;
  await eventually(() => connect.mock.calls.length > before + 1);
  connect.mockRestore();
  await eventually(async () => (await rows()).every(({ state }) => state === 'DELIVERED'));
  expect((await rows()).map(({ attempts }) => attempts)).toEqual([1, 1]);
  expect(posts).toHaveLength(2);
});

test('an event that cannot be read holds up neither the endpoint nor the health of the sender', async () => {
  const [unreadable, fine] = [randomUUID(), randomUUID()];
  let asked = 0;
  dataOf = (eventId) => {
    if (eventId !== unreadable) return Promise.resolve({ kind: 'made', data: {}, people: [] });
    asked += 1;
    return Promise.reject(new UnreadableEvent('of a later release'));
  };
  const endpoint = oneOf('one');
  await known([endpoint]);
  await due([endpoint], [unreadable]);
  sender.worker.loop.start();
  await eventually(() => asked === 1);
  const paused = async () =>
    (
      await pool.query<{ held: boolean; later: boolean }>(
        `select e.pause_until is not null as held, w.due_at > now() + interval '5 min' as later
          from ledger.webhook_endpoints e, ledger.work_items w where w.claimed_by is null`,
      )
    ).rows;
  await eventually(async () => (await paused()).length === 1);
  expect(await paused()).toEqual([{ held: false, later: true }]);
  expect(sender.worker.loop.status().lastError).toBeNull();
  await due([endpoint], [fine]);
  sender.worker.loop.notify();
  await eventually(() => posts.length === 1);
});

describe('a claim that the process comes back to late', () => {
  let endpoint: Named;
  let makeBody: () => void;

  beforeEach(async () => {
    endpoint = oneOf('a');
    await known([endpoint]);
    const making = new Promise<PayloadData>((resolve) => {
      makeBody = () => resolve({ kind: 'made', data: {}, people: [] });
    });
    let isAsked = false;
    dataOf = () => {
      isAsked = true;
      return making;
    };
    await due([endpoint], [randomUUID()]);
    sender.worker.loop.start();
    await eventually(() => isAsked);
  });

  const isIdle = (): boolean => sender.worker.loop.status().underWay === 0;

  test('posts nothing that another process has delivered since', async () => {
    await pool.query("update ledger.webhook_deliveries set state = 'DELIVERED'");
    laterMs = 12_500;
    makeBody();
    await eventually(isIdle);
    expect(posts).toHaveLength(0);
  });

  test('is given back, and claimed anew', async () => {
    laterMs = 12_500;
    makeBody();
    await eventually(() => posts.length === 1);
    await eventually(async () => (await rows())[0]?.state === 'DELIVERED');
    expect(await rows()).toEqual([{ state: 'DELIVERED', attempts: 1 }]);
  });

  test('posts nothing to an endpoint that ended meanwhile', async () => {
    isSubscribed = false;
    makeBody();
    await eventually(isIdle);
    expect(posts).toHaveLength(0);
  });
});

test('a test is sent to the subscription that it is for, and to no later one', async () => {
  const endpoint = oneOf('a');
  await known([endpoint]);
  for (const at of [SUBSCRIBED_AT - 1, SUBSCRIBED_AT])
    await due([endpoint], [null], { subscribedAt: String(at) });
  sender.worker.loop.start();
  await eventually(async () => (await rows()).every(({ state }) => state !== 'PENDING'));
  expect([posts.length, await rows()]).toMatchObject([1, [{ state: 'DELIVERED' }]]);
});

const isWell = (): boolean => sender.worker.loop.status().lastError === null;

test('the status of the sender is off before the start and after the end', async () => {
  const off = { runs: false, underWay: 0, stillSeconds: 0, lastError: null };
  expect(sender.worker.loop.status()).toEqual(off);
  sender.worker.loop.start();
  expect(sender.worker.loop.status()).toMatchObject({ runs: true, lastError: null });
  await sender.worker.stop();
  expect(sender.worker.loop.status()).toEqual(off);
});

test('the status of the sender reports that rows cannot be read, and for how long', async () => {
  sender.worker.loop.start();
  await pool.query('alter table ledger.work_items rename to items_away');
  await eventually(() => !isWell() && sender.worker.loop.status().stillSeconds > 1);
  expect(sender.worker.loop.status().lastError).toBe('error 42P01');
  await pool.query('alter table ledger.items_away rename to work_items');
  await eventually(() => isWell() && sender.worker.loop.status().stillSeconds < 1);
});

test('the status of the sender reports that bodies cannot be made, until one is', async () => {
  const endpoints = endpointsOf('one', 'live', 2);
  await known(endpoints);
  keysAway = true;
  await due(endpoints.slice(0, 1), [null]);
  sender.worker.loop.start();
  await eventually(() => !isWell() && sender.worker.loop.status().stillSeconds > 1);
  expect([sender.worker.loop.status().lastError, posts.length]).toEqual(['Error', 0]);
  keysAway = false;
  await due(endpoints.slice(1), [null]);
  sender.worker.loop.notify();
  await eventually(() => posts.length === 2);
  await eventually(() => isWell() && sender.worker.loop.status().stillSeconds < 1);
});
