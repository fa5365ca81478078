import { randomUUID } from 'node:crypto';
import {
  createWebhookCheckpoint,
  lockEndpoints,
  putDeliveries,
  putEndpoints,
  storePage,
  type EndpointChange,
  type EndpointState,
} from '../../src/webhooks/deliveries/delivery-rows.js';
import {
  endpointFigures,
  resend,
  WEBHOOK_LIST,
} from '../../src/webhooks/deliveries/shown-deliveries.js';
import { clockMovedBy } from '../support/clock-of-process.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';

const { pool } = useDatabase(4, { each: true });
jest.setTimeout(120_000);

const NAME = { tenant: 'acme', mode: 'live', endpointId: 'a' } as const;
const EARLIER = 1_700_000_000_000;
const all = { endpointId: 'a', since: new Date(0) };

const change = (state: EndpointState, subscribedAt?: number): EndpointChange => ({
  ...NAME,
  state,
  position: null,
  subscribedAt,
});

async function put(created: number): Promise<string> {
  const id = randomUUID();
  const event = { stream: 's', revision: 1n, eventId: randomUUID() };
  await putDeliveries(pool, [
    { ...NAME, id, webhookId: randomUUID(), type: 'user.created', subject: {}, event, created },
  ]);
  return id;
}

const deliver = () =>
  pool.query(
    `update ledger.webhook_deliveries
     set state = 'DELIVERED', ended_at = now() where state = 'PENDING'`,
  );

const rowsIn = async (state: string): Promise<readonly string[]> =>
  (
    await pool.query<{ id: string }>(
      'select id from ledger.webhook_deliveries where state = $1 order by created',
      [state],
    )
  ).rows.map(({ id }) => id);

test('a resend sends the events of the present subscription again, and no older ones', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  const old = await put(EARLIER + 1_000);
  await deliver();
  expect(await resend(pool, NAME, all)).toBe(1);
  await deliver();
  await putEndpoints(pool, [change('UNSUBSCRIBED')]);
  expect(await resend(pool, NAME, all)).toBe(0);
  await putEndpoints(pool, [change('ACTIVE', EARLIER + 2_000)]);
  const fresh = await put(EARLIER + 3_000);
  await deliver();
  // Neither another name nor an interruption begins a subscription.
  await putEndpoints(pool, [change('ACTIVE', EARLIER + 4_000)]);
  await putEndpoints(pool, [change('DISABLED')]);
  await putEndpoints(pool, [change('ACTIVE')]);
  expect(await rowsIn('DELIVERED')).toEqual([old, fresh]);
  expect(await resend(pool, NAME, { endpointId: 'a', id: old })).toBe(0);
  expect(await resend(pool, NAME, all)).toBe(1);
  expect(await rowsIn('PENDING')).toEqual([fresh]);
});

test('a failed test is no dead delivery, and no resend of several sends it', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  await put(EARLIER + 1_000);
  const test = { webhookId: randomUUID(), type: 'test', subject: {}, event: null } as const;
  await putDeliveries(pool, [{ ...NAME, ...test, id: randomUUID(), created: EARLIER + 2_000 }]);
  await pool.query("update ledger.webhook_deliveries set state = 'DEAD', ended_at = now()");
  expect(await endpointFigures(pool, NAME)).toMatchObject([{ dead: 1 }]);
  expect(await resend(pool, NAME, all)).toBe(1);
});

test('a pause postpones the next attempts of its endpoint, but for one that is sent again', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  const [waiting, again] = [await put(EARLIER + 1_000), await put(EARLIER + 2_000)];
  await resend(pool, NAME, { endpointId: 'a', id: again });
  await pool.query("update ledger.webhook_endpoints set pause_until = now() + interval '1 hour'");
  const rows = await WEBHOOK_LIST.list(pool, NAME, { limit: 2 });
  const later = rows.filter(({ nextAttemptAt }) => Number(nextAttemptAt) > Date.now());
  expect(later.map(({ id }) => id)).toEqual([waiting]);
});

test('many are sent again in the order of their events, fifty a second', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  await pool.query(
    `insert into ledger.webhook_deliveries (id, tenant, mode, endpoint_id, webhook_id, type, subject,
       created, state, ended_at, stream, revision, event_id)
     select gen_random_uuid(), 'acme', 'live', 'a', gen_random_uuid(), 'user.created', '{}',
       to_timestamp($1 + n % 700), 'DELIVERED', now(), 's', n, gen_random_uuid()
     from generate_series(1, 2500) n`,
    [EARLIER / 1_000],
  );
  expect(await resend(pool, NAME, all)).toBe(2_500);
  const { rows } = await pool.query(
    `select count(*)::integer as due, count(distinct due_at)::integer as times,
       extract(epoch from max(due_at) - min(due_at))::float8 as seconds,
       bool_and(is_ordered) as ordered
     from (
       select due_at, created >= lag(created, 1, created) over (order by due_at) as is_ordered
       from ledger.webhook_deliveries d join ledger.work_items w on w.id = d.id::text
       where state = 'PENDING'
     ) d`,
  );
  expect(rows).toEqual([{ due: 2_500, times: 2_500, seconds: 2_499 / 50, ordered: true }]);
});

test('deliveries from before a subscription are removed when it begins', async () => {
  await putEndpoints(pool, [change('UNSUBSCRIBED')]);
  await put(EARLIER - 1);
  const newer = await put(EARLIER);
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  expect(await rowsIn('PENDING')).toEqual([newer]);
  await putEndpoints(pool, [change('ACTIVE', EARLIER + 1)]);
  expect(await rowsIn('PENDING')).toEqual([newer]);
});

test('a test stays when the follower reads late that the endpoint was unsubscribed and subscribed again', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  const test = randomUUID();
  await putDeliveries(pool, [
    {
      ...NAME,
      id: test,
      webhookId: randomUUID(),
      type: 'test',
      subject: { subscribedAt: String(EARLIER + 1_000) },
      event: null,
      created: EARLIER + 1_001,
    },
  ]);
  await put(EARLIER + 500);
  await createWebhookCheckpoint(pool, null, []);
  await storePage(pool, 0n, {
    point: { reached: '1', witness: { position: '1', eventId: randomUUID() } },
    trail: undefined,
    endpoints: [change('UNSUBSCRIBED'), change('ACTIVE', EARLIER + 1_000)],
    deliveries: [],
    unread: [],
  });
  expect(await rowsIn('PENDING')).toEqual([test]);
});

test('an endpoint that ends and begins anew during a resend gets nothing of before', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  await put(EARLIER + 1_000);
  await deliver();
  const waiting = await put(EARLIER + 1_001);
  await pool.query(`update ledger.work_items set due_at = now() + interval '1 h' where id = $1`, [
    waiting,
  ]);
  const client = await pool.connect();
  try {
    await client.query('begin');
    await lockEndpoints(client, [NAME]);
    const resent = resend(pool, NAME, all).catch((error: unknown) => error);
    await eventually(async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length === 1;
    });
    // Endpoints come before deliveries: the other way around one of both is a deadlock's victim.
    await client.query("delete from ledger.webhook_deliveries where state = 'PENDING'");
    await putEndpoints(client, [change('UNSUBSCRIBED')]);
    await putEndpoints(client, [change('ACTIVE', EARLIER + 2_000)]);
    await client.query('commit');
    expect(await resent).toBe(0);
  } finally {
    client.release();
  }
  expect(await rowsIn('PENDING')).toEqual([]);
});

test.each([10, -10])('a process %i minutes ahead sends again immediately', async (minutes) => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  const id = await put(EARLIER + 1_000);
  await deliver();
  const leaveWorld = clockMovedBy(minutes * 60_000);
  try {
    expect(await resend(pool, NAME, all)).toBe(1);
  } finally {
    leaveWorld();
  }
  const due = await pool.query(`select id from ledger.work_items where due_at <= now()`);
  expect(due.rows).toEqual([{ id }]);
});

test('a resend of one delivery sends an overdue one, a resend of several does not', async () => {
  await putEndpoints(pool, [change('ACTIVE', EARLIER)]);
  const id = await put(EARLIER + 1_000);
  expect(await resend(pool, NAME, all)).toBe(0);
  expect(await resend(pool, NAME, { endpointId: 'a', id })).toBe(1);
});
