// Over 5 s: a database for each test, two of them with 20,000 deliveries.
import { randomUUID } from 'node:crypto';
import { openPool } from '../../src/postgres/database.js';
import {
  putDeliveries,
  putEndpoints,
  waitingDeliveries,
  WEBHOOKS,
  type NewDelivery,
} from '../../src/webhooks/deliveries/delivery-rows.js';
import {
  dueDeliveries,
  endpointLanes,
  type DueDelivery,
} from '../../src/webhooks/deliveries/due-deliveries.js';
import {
  nextInMs,
  recordEnded,
  type Attempt,
  type EndedClaim,
} from '../../src/webhooks/deliveries/ended-claims.js';
import { resend } from '../../src/webhooks/deliveries/shown-deliveries.js';
import {
  claimWork,
  isAnyDue,
  settleWork,
  type ClaimedWork,
} from '../../src/work-queue/work-items.js';
import { clockMovedBy } from '../support/clock-of-process.js';
import { useDatabase } from '../support/database.js';

const { database, pool } = useDatabase(4, { each: true });

const SCOPE = { tenant: 'acme', mode: 'live' } as const;

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

const put = (
  count: number,
  endpointId: string,
  tenant = 'acme',
  event: NewDelivery['event'] = { stream: 's', revision: 0n, eventId: randomUUID() },
): Promise<void> =>
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
      event,
      created: Date.now(),
    })),
  );

/** The endpoint `a` with so many deliveries. */
async function endpointWith(count: number): Promise<void> {
  await endpoint('a');
  await put(count, 'a');
}

type Claimed = DueDelivery & { readonly item: ClaimedWork };

const claim = async ({ items = 100, ofTenant = 100, on = pool } = {}): Promise<
  readonly Claimed[]
> => {
  const limits = { items, ofTenant, ofLane: 10, underWay: [], after: '', leaseMs: 30_000 };
  const room = { kind: WEBHOOKS, process: 1, ...limits, ...(await endpointLanes(on)) };
  const claimed = await claimWork(on, room);
  const found = await dueDeliveries(
    on,
    claimed.map(({ id }) => id),
  );
  return claimed.flatMap((item) => {
    const delivery = found.get(item.id);
    return delivery ? [{ ...delivery, item }] : [];
  });
};

/** As the sender records it, and ends the claims. */
async function end(claims: readonly (EndedClaim & { delivery: Claimed })[], on = pool) {
  const ended = claims.map((one) => ({ ...one, next: nextInMs(one) }));
  await recordEnded(on, ended);
  await settleWork(
    on,
    { kind: WEBHOOKS, process: 1 },
    ended.map(({ delivery: { item }, next }) => ({
      item,
      outcome:
        next === null ? { kind: 'done' } : { kind: 'again', after: { ms: next }, reason: null },
    })),
  );
}

const attempt = (status: number | null): Attempt => ({
  at: Date.now(),
  ms: 1,
  status,
  reason: status === null ? 'refused' : null,
  retryAfterMs: null,
  beginning: null,
  people: [],
});
const attempted = (delivery: Claimed, status: number | null) =>
  ({ kind: 'attempted', delivery, attempt: attempt(status) }) as const;
const record = (claims: readonly Claimed[], status: number | null) =>
  end(claims.map((delivery) => attempted(delivery, status)));

const endpointNow = async (endpointId: string) =>
  (
    await pool.query<{ failures: number; paused: boolean }>(
      `select failures, pause_until > now() is true as paused
       from ledger.webhook_endpoints where endpoint_id = $1`,
      [endpointId],
    )
  ).rows[0];

async function later(): Promise<void> {
  await pool.query('update ledger.work_items set due_at = now() where claimed_by is null');
  await pool.query('update ledger.webhook_endpoints set pause_until = null');
}

const byEndpoint = (claims: readonly Claimed[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { endpointId } of claims) counts[endpointId] = (counts[endpointId] ?? 0) + 1;
  return counts;
};

test('attempts that are recorded together count as one after the other, and another name of the endpoint forgets none', async () => {
  for (const name of ['fails', 'recovers']) await endpoint(name);
  for (const name of ['fails', 'recovers']) await put(4, name);
  const claims = await claim();
  const of = (name: string): readonly Claimed[] =>
    claims.filter(({ endpointId }) => endpointId === name);
  await record(of('fails'), 500);
  await end([500, 500, 200, null].map((status, n) => attempted(of('recovers')[n]!, status)));
  await newEndpoint('fails');
  expect(await endpointNow('fails')).toEqual({ failures: 4, paused: true });
  expect(await endpointNow('recovers')).toEqual({ failures: 1, paused: false });
  await later();
  // A failing one is probed by one delivery.
  expect(byEndpoint(await claim())).toEqual({ fails: 1, recovers: 3 });
});

test('a claim that lapsed and was taken over records a success, and no second failure', async () => {
  await endpointWith(2);
  const claims = await claim();
  await pool.query('update ledger.work_items set claimed_by = null');
  const again = await claim();
  expect(again).toHaveLength(2);
  await record(
    again.filter(({ id }) => id === claims[1]?.id),
    500,
  );
  await record(claims.slice(0, 1), 200);
  await record(claims.slice(1), 500);
  const { rows } = await pool.query(
    'select state, attempts from ledger.webhook_deliveries order by state',
  );
  expect(rows).toEqual([
    { state: 'DELIVERED', attempts: 1 },
    { state: 'PENDING', attempts: 1 },
  ]);
  // The item of the one that was delivered is worked on no more.
  expect(await dueDeliveries(pool, [claims[0]!.id])).toEqual(new Map());
});

test('deliveries of a disabled endpoint do not count as waiting, until it is enabled', async () => {
  const change = (state: 'ACTIVE' | 'DISABLED') =>
    putEndpoints(pool, [{ tenant: 'acme', mode: 'live', endpointId: 'a', state, position: null }]);
  const waiting = async () => {
    const { waiting: count, oldest } = await waitingDeliveries(pool);
    return { count, oldest };
  };
  const none = { count: 0, oldest: undefined };
  await endpointWith(3);
  const before = await waiting();
  expect(before).toEqual({ count: 3, oldest: expect.any(Number) });
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

test('a delivery that could be sent counts as unsent, unless its endpoint or tenant makes it wait', async () => {
  const unsent = async (): Promise<boolean> => (await waitingDeliveries(pool)).unsentSeconds > 50;
  await endpointWith(20);
  expect(await unsent()).toBe(false);
  const ago = () =>
    pool.query(
      `update ledger.work_items set due_at = now() - interval '1 min' where claimed_by is null`,
    );
  await ago();
  expect(await unsent()).toBe(true);
  await claim({ ofTenant: 1 });
  // It is busy.
  expect(await unsent()).toBe(false);
  await endpoint('b');
  await put(1, 'b');
  await ago();
  expect(await unsent()).toBe(true);
  for (const name of ['c', 'd']) {
    await endpoint(name);
    await put(10, name);
  }
  await pool.query(
    `update ledger.work_items set claimed_by = 1 where lane like any (array['live c%', 'live d%'])`,
  );
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

test('a test and a resend of one delivery do not wait for what a failing endpoint was sent before', async () => {
  await endpointWith(180);
  await record(await claim(), 500);
  expect(await endpointNow('a')).toEqual({ failures: 10, paused: true });
  await pool.query('update ledger.work_items set due_at = now()');
  expect(await claim()).toEqual([]);
  await put(1, 'a', 'acme', null);
  const test = await claim();
  expect(test).toMatchObject([{ event: null }]);
  const { rows } = await pool.query<{ id: string }>(
    'select id from ledger.webhook_deliveries where attempts = 0 and event_id is not null limit 1',
  );
  const id = String(rows[0]?.id);
  await pool.query(`update ledger.work_items set due_at = now() + interval '1 h' where id = $1`, [
    id,
  ]);
  expect(await resend(pool, SCOPE, { endpointId: 'a', id })).toBe(1);
  await pool.query("update ledger.webhook_endpoints set pause_until = now() + interval '30 s'");
  expect(await claim()).toMatchObject([{ id }]);
  // One that is paused is probed by one at a time, after its pause.
  await pool.query('update ledger.webhook_endpoints set pause_until = null');
  expect(await claim()).toHaveLength(1);
  expect(await claim()).toEqual([]);
});

async function postponeOne(): Promise<void> {
  const [delivery] = await claim();
  const postponed = { delayMs: 60_000, endpoint: true };
  await end([{ kind: 'postponed', delivery: delivery!, postponed }]);
}

test('a postponed delivery is no attempt, and pauses its endpoint', async () => {
  await endpointWith(1);
  await postponeOne();
  expect(await endpointNow('a')).toEqual({ failures: 0, paused: true });
  expect(await claim()).toEqual([]);
  await later();
  expect(await claim()).toMatchObject([{ attempts: 0 }]);
});

const DAY_S = 86_400;

/** Seconds until the next attempt; null: the delivery is dead. */
const nextIn = async (): Promise<number | null | undefined> =>
  (
    await pool.query<{ seconds: number | null }>(
      `select extract(epoch from due_at - now())::float8 as seconds
         from ledger.webhook_deliveries d left join ledger.work_items w on w.id = d.id::text`,
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
  const claims = await claim();
  expect(claims).toHaveLength(1);
  await record(claims, 500);
};

test.each([100, -100])(
  'a retry of a process whose clock is %i hours ahead is in time',
  async (hours) => {
    await endpointWith(1);
    const leaveWorld = clockMovedBy(hours * 3_600_000);
    try {
      const [delivery] = await claim();
      const at = Date.now() + hours * 3_600_000;
      await end([{ kind: 'attempted', delivery: delivery!, attempt: { ...attempt(500), at } }]);
    } finally {
      leaveWorld();
    }
    const seconds = await nextIn();
    expect(seconds).toBeLessThanOrEqual(6);
    expect(seconds).toBeGreaterThan(-600);
  },
);

test('a retry is made for three days from the first attempt on, however late that was', async () => {
  await endpointWith(1);
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

test('a retry does not count the time in which nothing was to be sent', async () => {
  await endpointWith(1);
  await failOnce();
  await passed(5);
  await later();
  await postponeOne();
  await failOnce();
  expect(await nextIn()).toBeLessThanOrEqual(360);
});

test('a retry begins anew with a resend', async () => {
  await endpointWith(1);
  for (let n = 0; n < 3; n++) await failOnce();
  await passed(5);
  await failOnce();
  expect(await nextIn()).toBeNull();
  expect(await resend(pool, SCOPE, { endpointId: 'a', since: new Date(0) })).toBe(1);
  await failOnce();
  expect(await nextIn()).toBeLessThanOrEqual(6);
  const { rows } = await pool.query('select attempts from ledger.webhook_deliveries');
  expect(rows).toEqual([{ attempts: 5 }]);
});

test('a retry of what an endpoint could never take in three days is given up', async () => {
  await endpointWith(4);
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
    await pool.query('update ledger.webhook_endpoints set failures = 3');
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

test.each([
  ['that were just inserted', false, 'custom'],
  ['that were analyzed', true, 'generic'],
])('among many waiting deliveries %s the due ones are found by an index', async (...given) => {
  const [, analyzed, plan] = given;
  for (const name of ['dead', 'fine']) await endpoint(name);
  await pool.query(
    `insert into ledger.webhook_deliveries
       (id, tenant, mode, endpoint_id, webhook_id, type, subject, created)
     select gen_random_uuid(), 'acme', 'live', 'dead', gen_random_uuid(), 'test', '{}', now()
     from generate_series(1, 20000)`,
  );
  await pool.query(
    `insert into ledger.work_items (kind, id, tenant, lane, due_at, waiting_since)
     select 'webhook', id::text, tenant, 'live dead', now() + interval '1 day', now()
     from ledger.webhook_deliveries`,
  );
  await put(3, 'fine');
  if (analyzed) await pool.query('analyze ledger.webhook_deliveries, ledger.work_items');
  const single = openPool({ url: database.url, max: 1, applicationName: 'due-deliveries' });
  try {
    const read = async (): Promise<number> => {
      await single.query('select pg_stat_force_next_flush()');
      const { rows } = await single.query<{ rows: string }>(
        `select sum(seq_tup_read) as rows from pg_stat_user_tables
         where relname in ('webhook_deliveries', 'work_items')`,
      );
      return Number(rows[0]?.rows);
    };
    await single.query(`set plan_cache_mode = force_${plan}_plan`);
    const before = await read();
    expect(await isAnyDue(single, WEBHOOKS)).toBe(true);
    const claims = await claim({ on: single });
    expect(byEndpoint(claims)).toEqual({ fine: 3 });
    await end(
      claims.map((delivery) => attempted(delivery, 200)),
      single,
    );
    // Sessions report what they read behind their transactions, this one of itself.
    expect(await read()).toBe(before);
  } finally {
    await single.end();
  }
});
