// Over 5 s: a database for each test, two of them with 20,000 deliveries.
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { openPool } from '../../src/postgres/database.js';
import {
  putDeliveries,
  putEndpoints,
  waitingDeliveries,
  type NewDelivery,
} from '../../src/webhooks/deliveries/delivery-rows.js';
import {
  claimDue,
  isAnyDue,
  type ClaimedDelivery,
} from '../../src/webhooks/deliveries/due-deliveries.js';
import { recordEnded, type Attempt } from '../../src/webhooks/deliveries/ended-claims.js';
import { resend, waitingAndDead } from '../../src/webhooks/deliveries/shown-deliveries.js';
import { clockMovedBy } from '../support/clock-of-process.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';

/** What is claimed, and what is recorded of claims, by SQL alone. */

let pool: Pool;
let url: string;
useDatabase(4, (opened, at) => ([pool, url] = [opened, at]), { each: true });

const newEndpoint = (endpointId: string, tenant = 'acme'): Promise<void> =>
  putEndpoints(pool, [{ tenant, mode: 'live', endpointId, state: 'ACTIVE', position: null }]);

/** One that answered well. */
async function endpoint(endpointId: string, tenant = 'acme'): Promise<void> {
  await newEndpoint(endpointId, tenant);
  await pool.query(
    'update ledger.webhook_endpoints set last_success = now() where endpoint_id = $1',
    [endpointId],
  );
}

const put = (count: number, endpointId: string, tenant = 'acme'): Promise<void> =>
  putDeliveries(
    pool,
    Array.from({ length: count }, (): NewDelivery => ({
      tenant,
      mode: 'live',
      endpointId,
      id: randomUUID(),
      webhookId: randomUUID(),
      type: 'test',
      subject: {},
      event: null,
      created: Date.now(),
    })),
  );

const claim = ({ deliveries = 100, ofTenant = 100 } = {}) => {
  const taken = new Map<string, number>();
  const take = (tenant: string): boolean => {
    const before = taken.get(tenant) ?? 0;
    taken.set(tenant, before + 1);
    return before < ofTenant;
  };
  return claimDue(pool, { deliveries, fullTenants: [], take });
};

const attempt = (status: number | null, ms = 1): Attempt => ({
  at: Date.now(),
  ms,
  status,
  reason: status === null ? 'refused' : null,
  retryAfterMs: null,
  beginning: null,
  people: [],
});
const record = (claims: readonly ClaimedDelivery[], status: number | null, ms?: number) =>
  recordEnded(
    pool,
    claims.map((delivery) => ({ kind: 'attempted', delivery, attempt: attempt(status, ms) })),
  );

const endpointNow = async (endpointId: string) =>
  (
    await pool.query<{ failures: number; paused: boolean }>(
      `select failures, pause_until > now() is true as paused
       from ledger.webhook_endpoints where endpoint_id = $1`,
      [endpointId],
    )
  ).rows[0];

/** The time of retries and pauses comes. */
async function later(): Promise<void> {
  await pool.query(
    "update ledger.webhook_deliveries set next_attempt_at = now() where state = 'PENDING' and leased_until is null",
  );
  await pool.query(
    'update ledger.webhook_endpoints set pause_until = null, due_at = least(due_at, now())',
  );
}

const byEndpoint = (claims: readonly ClaimedDelivery[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { endpointId } of claims) counts[endpointId] = (counts[endpointId] ?? 0) + 1;
  return counts;
};

test('what is announced to a full endpoint is claimed once one of its attempts is recorded', async () => {
  await endpoint('a');
  await put(10, 'a');
  const first = await claim();
  expect(first).toHaveLength(10);
  // None is left: the next one finds it full.
  await put(1, 'a');
  expect(await claim()).toEqual([]);
  await put(1, 'a');
  expect(await isAnyDue(pool)).toBe(false);
  await record(first.slice(0, 1), 200);
  expect(await claim()).toHaveLength(1);
  await put(1, 'a');
  expect(await isAnyDue(pool)).toBe(false);
  await record(first.slice(1), 200);
  expect(await claim()).toHaveLength(2);
  // There is room now, and nothing waits.
  await put(1, 'a');
  expect(await isAnyDue(pool)).toBe(true);
});

test('what is announced while a claim finds nothing more makes the endpoint due', async () => {
  await endpoint('a');
  await put(1, 'a');
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('update ledger.webhook_endpoints set due_at = null');
    const announced = put(1, 'a');
    await eventually(async () => {
      const { rowCount } = await pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rowCount === 1;
    });
    await client.query('commit');
    await announced;
  } finally {
    client.release();
  }
  expect(await isAnyDue(pool)).toBe(true);
});

test('the room in all and that of a tenant are shared out', async () => {
  for (const name of ['a', 'b']) await endpoint(name);
  await endpoint('other', 'initech');
  await put(20, 'a');
  await put(20, 'b');
  await put(20, 'other', 'initech');
  expect(byEndpoint(await claim({ ofTenant: 12 }))).toEqual({ a: 10, b: 2, other: 10 });
  expect(byEndpoint(await claim({ deliveries: 5 }))).toEqual({ b: 5 });
  expect(byEndpoint(await claim())).toEqual({ b: 3 });
});

test('what is dropped makes room at once', async () => {
  await endpoint('a');
  await put(12, 'a');
  const claims = await claim();
  await recordEnded(
    pool,
    claims.map((delivery) => ({ kind: 'dropped', delivery })),
  );
  expect(await claim()).toHaveLength(2);
  const { rows } = await pool.query('select from ledger.webhook_deliveries');
  expect(rows).toHaveLength(2);
});

test('attempts that are recorded together count as one after the other', async () => {
  for (const name of ['fails', 'recovers']) await endpoint(name);
  for (const name of ['fails', 'recovers']) await put(4, name);
  const claims = await claim();
  const of = (name: string): readonly ClaimedDelivery[] =>
    claims.filter(({ endpointId }) => endpointId === name);
  await record(of('fails'), 500);
  await recordEnded(
    pool,
    [500, 500, 200, null].map((status, n) => ({
      kind: 'attempted',
      delivery: of('recovers')[n]!,
      attempt: attempt(status),
    })),
  );
  expect(await endpointNow('fails')).toEqual({ failures: 4, paused: true });
  expect(await endpointNow('recovers')).toEqual({ failures: 1, paused: false });
  await later();
  // A failing one is probed by one delivery.
  expect(byEndpoint(await claim())).toEqual({ fails: 1, recovers: 3 });
});

test('an endpoint is due again behind its attempts only when something waits', async () => {
  for (const name of ['done', 'more', 'fails']) await endpoint(name);
  await put(10, 'done');
  await put(11, 'more');
  await put(1, 'fails');
  const claims = await claim();
  expect(byEndpoint(claims)).toEqual({ done: 10, more: 10, fails: 1 });
  const of = (name: string) => claims.filter(({ endpointId }) => endpointId === name);
  await record(of('done').slice(1), 200);
  await record(of('fails'), 500);
  // One is under way, and one waits for its retry.
  expect(await isAnyDue(pool)).toBe(false);
  await record(of('done').slice(0, 1), 200);
  expect(await isAnyDue(pool)).toBe(false);
  await record(of('more').slice(0, 1), 200);
  expect(byEndpoint(await claim())).toEqual({ more: 1 });
  await later();
  expect(byEndpoint(await claim())).toEqual({ fails: 1 });
});

test('a claim that lapsed and was taken over records a success, and no failure', async () => {
  await endpoint('a');
  await put(2, 'a');
  const claims = await claim();
  await pool.query(
    `update ledger.webhook_deliveries
     set leased_until = leased_until - interval '61 s', next_attempt_at = now()`,
  );
  await pool.query('update ledger.webhook_endpoints set due_at = now()');
  const again = await claim();
  expect(again).toHaveLength(2);
  await record(claims.slice(0, 1), 200);
  await record(claims.slice(1), 500);
  const { rows } = await pool.query<{ state: string; leased: boolean }>(
    'select state, leased_until is not null as leased from ledger.webhook_deliveries order by state',
  );
  expect(rows).toEqual([
    { state: 'DELIVERED', leased: false },
    { state: 'PENDING', leased: true },
  ]);
});

test('what is kept for a disabled endpoint does not wait to be sent, until it is enabled', async () => {
  const change = (state: 'ACTIVE' | 'DISABLED') =>
    putEndpoints(pool, [{ tenant: 'acme', mode: 'live', endpointId: 'a', state, position: null }]);
  const waiting = async () => {
    const { waiting: count, oldest } = await waitingDeliveries(pool);
    const { oldestWaiting } = await waitingAndDead(pool, { tenant: 'acme', mode: 'live' });
    return { count, oldest, ofTenant: oldestWaiting?.getTime() };
  };
  const none = { count: 0, oldest: undefined, ofTenant: undefined };
  await endpoint('a');
  await put(3, 'a');
  const before = await waiting();
  expect(before).toEqual({ count: 3, oldest: expect.any(Number), ofTenant: before.oldest });
  await change('DISABLED');
  expect(await waiting()).toEqual(none);
  await endpoint('b');
  await put(1, 'b');
  await pool.query(
    `update ledger.webhook_deliveries set created = created + interval '1 h'
     where endpoint_id = 'b'`,
  );
  const later = (before.oldest ?? 0) + 3_600_000;
  expect((await waiting()).oldest).toBeGreaterThanOrEqual(later);
  expect((await waiting()).count).toBe(1);
  await change('ACTIVE');
  expect(await waiting()).toEqual({ ...before, count: 4 });
  expect(await claim()).toHaveLength(4);
});

test('what could be sent and is not counts, unless its endpoint or tenant makes it wait', async () => {
  const unsent = async (): Promise<boolean> => (await waitingDeliveries(pool)).unsentSeconds > 50;
  await endpoint('a');
  await put(20, 'a');
  expect(await unsent()).toBe(false);
  const ago = () =>
    pool.query(
      `update ledger.webhook_endpoints set due_at = now() - interval '1 min',
         pause_until = pause_until - interval '1 min'`,
    );
  await ago();
  expect(await unsent()).toBe(true);
  const first = await claim({ ofTenant: 1 });
  await ago();
  // It is busy.
  expect(await unsent()).toBe(false);
  await endpoint('b');
  await put(1, 'b');
  await ago();
  expect(await unsent()).toBe(true);
  await record(first, 200);
  await put(20, 'a');
  for (const name of ['c', 'd']) {
    await endpoint(name);
    await put(10, name);
    await pool.query('update ledger.webhook_endpoints set due_at = null where endpoint_id = $1', [
      'b',
    ]);
    await claim();
  }
  await ago();
  // Its tenant has many under way.
  expect(await unsent()).toBe(false);
  await endpoint('other', 'initech');
  await put(1, 'other', 'initech');
  await ago();
  expect(await unsent()).toBe(true);
  await pool.query(
    "update ledger.webhook_endpoints set pause_until = now() + interval '1 min' where tenant = 'initech'",
  );
  expect(await unsent()).toBe(false);
});

test('something is due where it can be claimed', async () => {
  expect(await isAnyDue(pool)).toBe(false);
  await endpoint('a');
  await put(1, 'a');
  expect(await isAnyDue(pool)).toBe(true);
  await claim();
  expect(await isAnyDue(pool)).toBe(false);
});

test('a postponed delivery is no attempt, and its endpoint is left alone', async () => {
  await endpoint('a');
  await put(1, 'a');
  const [delivery] = await claim();
  const postponed = { notFor: 60_000, endpoint: true };
  await recordEnded(pool, [{ kind: 'postponed', delivery: delivery!, postponed }]);
  expect(await endpointNow('a')).toEqual({ failures: 0, paused: true });
  expect(await claim()).toEqual([]);
  await later();
  expect(await claim()).toMatchObject([{ attempts: 0 }]);
});

describe('a retry', () => {
  const DAY_S = 86_400;

  /** Seconds until the next attempt; null: the delivery is dead. */
  const nextIn = async (): Promise<number | null | undefined> =>
    (
      await pool.query<{ seconds: number | null }>(
        `select extract(epoch from next_attempt_at - now())::float8 as seconds
         from ledger.webhook_deliveries`,
      )
    ).rows[0]?.seconds;

  /** All that is kept of its time was so much earlier. */
  const passed = (days: number) =>
    pool.query(
      `update ledger.webhook_deliveries
       set created = created - $1 * interval '1 day', retried_from = retried_from - $1 * interval '1 day'`,
      [days],
    );

  const failOnce = async (): Promise<void> => {
    await later();
    await pool.query("update ledger.webhook_endpoints set due_at = now() where state = 'ACTIVE'");
    const claims = await claim();
    expect(claims).toHaveLength(1);
    await record(claims, 500);
  };

  test.each([100, -100])('of a process whose clock is %i hours ahead is in time', async (hours) => {
    await endpoint('a');
    await put(1, 'a');
    const leaveWorld = clockMovedBy(hours * 3_600_000);
    try {
      const [delivery] = await claim();
      const at = Date.now() + hours * 3_600_000;
      await recordEnded(pool, [
        { kind: 'attempted', delivery: delivery!, attempt: { ...attempt(500), at } },
      ]);
    } finally {
      leaveWorld();
    }
    const seconds = await nextIn();
    expect(seconds).toBeLessThanOrEqual(6);
    expect(seconds).toBeGreaterThan(-600);
  });

  test('is made for three days from the first attempt on, however late that was', async () => {
    await endpoint('a');
    await put(1, 'a');
    await passed(10);
    await failOnce();
    expect(await nextIn()).toBeLessThanOrEqual(6);
    await passed(2.9);
    await failOnce();
    expect(await nextIn()).toBeLessThanOrEqual(360);
    await passed(0.2);
    await failOnce();
    expect(await nextIn()).toBeNull();
  });

  test('does not count the time in which nothing was to be sent', async () => {
    await endpoint('a');
    await put(1, 'a');
    await failOnce();
    await passed(5);
    await later();
    const [delivery] = await claim();
    const postponed = { notFor: 60_000, endpoint: true };
    await recordEnded(pool, [{ kind: 'postponed', delivery: delivery!, postponed }]);
    await failOnce();
    expect(await nextIn()).toBeLessThanOrEqual(360);
  });

  test('begins anew with a resend', async () => {
    await endpoint('a');
    await put(1, 'a');
    for (let n = 0; n < 3; n++) await failOnce();
    await passed(5);
    await failOnce();
    expect(await nextIn()).toBeNull();
    const scope = { tenant: 'acme', mode: 'live' } as const;
    expect(await resend(pool, scope, { endpointId: 'a', since: new Date(0) })).toBe(1);
    await failOnce();
    expect(await nextIn()).toBeLessThanOrEqual(6);
    const { rows } = await pool.query('select attempts from ledger.webhook_deliveries');
    expect(rows).toEqual([{ attempts: 5 }]);
  });

  test('of what an endpoint could never take in three days is given up', async () => {
    await endpoint('a');
    await put(4, 'a');
    await pool.query(
      `update ledger.webhook_deliveries set created = created - interval '4 days'
       where id in (select id from ledger.webhook_deliveries limit 3)`,
    );
    const states = async () =>
      (
        await pool.query<{ state: string; count: string }>(
          'select state, count(*) from ledger.webhook_deliveries group by 1 order by 1',
        )
      ).rows.map(({ state, count }) => `${count} ${state}`);
    const probe = async () => {
      await later();
      await pool.query('update ledger.webhook_endpoints set due_at = now(), failures = 3');
      await record(await claim(), 500);
    };
    await probe();
    expect(await states()).toEqual(['4 PENDING']);
    await pool.query(
      "update ledger.webhook_endpoints set failing_since = now() - $1 * interval '1 s'",
      [3.1 * DAY_S],
    );
    await probe();
    // Those that were not attempted in the last three days.
    expect((await states())[0]).toMatch(/^[12] DEAD$/);
    const { rows } = await pool.query<{ young: boolean }>(
      `select created > now() - interval '1 day' or retried_from is not null as young
       from ledger.webhook_deliveries where state = 'PENDING'`,
    );
    expect(rows.every(({ young }) => young)).toBe(true);
  });
});

test.each([
  ['that were just inserted', false, 'custom'],
  ['that were analyzed', true, 'generic'],
])('among many waiting deliveries %s the due ones are found by an index', async (...given) => {
  const [, analyzed, plan] = given;
  for (const name of ['dead', 'fine']) await endpoint(name);
  await pool.query(
    `insert into ledger.webhook_deliveries
       (id, tenant, mode, endpoint_id, webhook_id, type, subject, created, next_attempt_at)
     select gen_random_uuid(), 'acme', 'live', 'dead', gen_random_uuid(), 'test', '{}', now(),
       now() + interval '1 day' from generate_series(1, 20000)`,
  );
  await put(3, 'fine');
  if (analyzed) await pool.query('analyze ledger.webhook_deliveries');
  const single = openPool({ url, max: 1, applicationName: 'due-deliveries' });
  try {
    const read = async (): Promise<number> => {
      await single.query('select pg_stat_force_next_flush()');
      const { rows } = await single.query<{ rows: string }>(
        `select seq_tup_read as rows from pg_stat_user_tables where relname = 'webhook_deliveries'`,
      );
      return Number(rows[0]?.rows);
    };
    await single.query(`set plan_cache_mode = force_${plan}_plan`);
    const before = await read();
    expect(await isAnyDue(single)).toBe(true);
    const room = { deliveries: 100, fullTenants: [] };
    const claims = await claimDue(single, { ...room, take: () => true });
    expect(byEndpoint(claims)).toEqual({ fine: 3 });
    const delivered = claims.map((delivery) => ({
      kind: 'attempted' as const,
      delivery,
      attempt: attempt(200),
    }));
    await recordEnded(single, delivered);
    // Sessions report what they read behind their transactions, this one of itself.
    expect(await read()).toBe(before);
  } finally {
    await single.end();
  }
});
