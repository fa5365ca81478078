import type pg from 'pg';
import type { Line } from '../../simulator/connection.js';
import { SeededRandom } from '../../simulator/seeded-random.js';
import {
  SimulatedPaymentTable,
  simulatedPaymentWork,
  simulatedProviderRows,
} from '../../simulator/simulated-payments.js';
import { providerRows, type SyncEnd } from '../../src/payments/incoming/payment-rows.js';
import {
  PostgresPaymentWork,
  WAITS_FOR,
  workAsks,
  type ClaimedWork,
  type NextWork,
} from '../../src/payments/outgoing/payment-work.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { newSeed } from '../support/new-seed.js';

/** The same calls in a random order, on the tables of payments and on the simulated ones. */

const STEPS = 150;
const MINUTE = 60_000;
/** Of everything at once. No two times of these tests come near each other by it. */
const SHIFT = 8 * MINUTE;
const SCOPES = [
  { tenant: 'acme', mode: 'live' },
  { tenant: 'acme', mode: 'test' },
  { tenant: 'zeta', mode: 'live' },
] as const;

/** Takes effect and answers at once. */
const line: Line = {
  read: async (_kind, _away, question) => question(),
  write: async (_kind, _away, change) => change(),
};

let pool: pg.Pool;
let random: SeededRandom;
let now: number;
useDatabase(6, (opened) => (pool = opened));
beforeEach(() => {
  random = new SeededRandom(newSeed('simulated payments'));
  now = Date.now();
});

/** Two processes, as both sides know them. */
async function twoProcesses() {
  const presences = [new ProcessPresence(pool), new ProcessPresence(pool)];
  for (const presence of presences) await presence.start();
  const table = new SimulatedPaymentTable(() => now, new Set(presences.map(({ id }) => id)));
  const end = async (presence: ProcessPresence): Promise<void> => {
    await presence.stop();
    await eventually(async () => {
      const { rows } = await pool.query(
        `select from pg_locks where locktype = 'advisory' and objid::bigint = $1`,
        [presence.id],
      );
      return rows.length === 0;
    });
  };
  return { presences, table, end };
}

/** Makes random steps, and names the seed and the step at which both sides differ. */
async function alike(step: () => Promise<readonly [string, real: unknown, simulated: unknown]>) {
  for (let n = 0; n < STEPS; n++) {
    now = Math.max(Date.now(), now + 1);
    const [name, real, simulated] = await step();
    const at = { seed: random.seed, step: n, name };
    expect({ ...at, is: simulated }).toEqual({ ...at, is: real });
  }
}

const inOrder = <T>(rows: Iterable<T>): readonly T[] =>
  [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

it('accounts whose rewards the provider pays', async () => {
  const { presences, table, end } = await twoProcesses();
  const sides = presences.map((presence) => ({
    real: new PostgresPaymentWork(pool, presence),
    simulated: simulatedPaymentWork(table, line, presence.id),
  }));
  const asks = workAsks(pool);
  const accounts = SCOPES.flatMap((of) => ['a', 'b', 'c'].map((account) => ({ ...of, account })));
  const claimed: (ClaimedWork & { readonly by: number })[] = [];
  let living = 2;
  const stored = async () => {
    const { rows } = await pool.query<object>(
      `select account, claimed_by, failures, leased_until > now() as leased, mode,
              next_attempt_at <= now() as due, reason, retries_parked, tenant,
              waiting_since <= now() as waits, woken::text
       from ledger.payment_work`,
    );
    return inOrder(rows);
  };
  const simulated = () =>
    inOrder(
      [...table.work.values()].map((row) => ({
        account: row.account,
        claimed_by: row.claimedBy,
        failures: row.failures,
        leased: row.leasedUntil === null ? null : row.leasedUntil > now,
        mode: row.mode,
        due: row.nextAt <= now,
        reason: row.reason,
        retries_parked: row.retriesParked,
        tenant: row.tenant,
        waits: row.waitingSince <= now,
        woken: `${row.woken}`,
      })),
    );
  const shift = async () => {
    await pool.query(
      `update ledger.payment_work
       set next_attempt_at = next_attempt_at - $1 * interval '1 ms',
         waiting_since = waiting_since - $1 * interval '1 ms',
         leased_until = leased_until - $1 * interval '1 ms'`,
      [SHIFT],
    );
    for (const row of table.work.values()) {
      row.nextAt -= SHIFT;
      row.waitingSince -= SHIFT;
      if (row.leasedUntil !== null) row.leasedUntil -= SHIFT;
    }
  };
  const claim = async (by: number) => {
    const room = {
      accounts: 99,
      ofTenant: 1 + random.below(3),
      underWay: random.onceIn(3) ? ['acme'] : [],
      paused: random.onceIn(4) ? ['zeta live'] : [],
      after: random.oneOf(['', 'acme', 'zeta']),
    };
    const [real, other] = [
      await sides[by]!.real.claim(room),
      await sides[by]!.simulated.claim(room),
    ];
    const plain = (all: readonly ClaimedWork[]) =>
      inOrder(
        all.map(
          ({ tenant, mode, account, failures, retriesParked, woken }) =>
            `${tenant} ${mode} ${account} ${failures} ${retriesParked} ${woken}`,
        ),
      );
    claimed.push(...real.map((work) => ({ ...work, by })));
    return [plain(real), plain(other)];
  };
  const release = async () => {
    const mine = claimed.filter(({ by }) => by < living).slice(-12);
    if (mine.length === 0) return;
    const { by, ...work } = random.oneOf(mine);
    const after = random.onceIn(3)
      ? { at: now + 182 * MINUTE }
      : { ms: random.oneOf([0, 60 * MINUTE]) };
    const reason = random.oneOf([null, 'no answer', ...Object.values(WAITS_FOR)]);
    const retriesParked = random.onceIn(3);
    const later = {
      kind: 'later',
      after,
      failures: random.below(4),
      reason,
      retriesParked,
    } as const;
    const next: NextWork = random.onceIn(2) ? { kind: 'none' } : later;
    await sides[by]!.real.release(work, next);
    await sides[by]!.simulated.release(work, next);
  };
  await alike(async () => {
    const by = random.below(living);
    const account = random.oneOf(accounts);
    const dueAt = random.oneOf([null, now - 182 * MINUTE, now + 182 * MINUTE]);
    const asked = { ...account, dueAt, retriesParked: random.onceIn(4) };
    const steps = {
      shift,
      wake: () => Promise.all([asks.wake(account), sides[by]!.simulated.wake(account)]),
      ask: () => Promise.all([asks.ask(asked), sides[by]!.simulated.ask(asked)]),
      claim: async () => {
        const [real, other] = await claim(by);
        expect([random.seed, other]).toEqual([random.seed, real]);
      },
      release,
      end: async () => {
        if (living === 1) return;
        living = 1;
        table.present.delete(presences[1]!.id);
        await end(presences[1]!);
      },
    };
    const name = random.weighted({ shift: 4, wake: 4, ask: 8, claim: 8, release: 8, end: 1 });
    await steps[name]();
    return [name, await stored(), simulated()];
  });
  expect(claimed.length).toBeGreaterThan(0);
  await presences[0]!.stop();
  if (living === 2) await presences[1]!.stop();
});

it('walks of providers, and events that wait for an account', async () => {
  const { presences, table, end } = await twoProcesses();
  const real = providerRows(pool);
  const other = simulatedProviderRows(table, line);
  const both = async (call: (rows: typeof real) => Promise<unknown>) => {
    const plain = (value: unknown) =>
      Array.isArray(value) ? inOrder(value.map(withoutTime)) : value;
    const answers = [plain(await call(real)), plain(await call(other))];
    expect([random.seed, answers[1]]).toEqual([random.seed, answers[0]]);
  };
  let living = 2;
  const stored = async () => {
    const walks = await pool.query<object>(
      `select claimed_by, failures, last_event_at is not null as heard,
              last_sync_at is not null as walked, leased_until > now() as leased, mode, problem,
              sync_cursor, sync_due_at <= now() as due, sync_late_since <= now() as late,
              extract(epoch from sync_since)::float8 * 1000 as since, tenant
       from ledger.payment_tenants`,
    );
    const waiting = await pool.query<object>(
      `select event_ref, extract(epoch from at)::float8 * 1000 as at, is_linked, stream, subject
       from ledger.payment_waiting_events`,
    );
    return [inOrder(walks.rows), inOrder(waiting.rows)];
  };
  const past = (at: number | null) => (at === null ? null : at <= now);
  const simulated = () => [
    inOrder(
      [...table.providers.values()].map((row) => ({
        claimed_by: row.claimedBy,
        failures: row.failures,
        heard: row.lastEventAt !== null,
        walked: row.lastSyncAt !== null,
        leased: row.leasedUntil === null ? null : row.leasedUntil > now,
        mode: row.mode,
        problem: row.problem,
        sync_cursor: row.cursor,
        due: past(row.syncDueAt),
        late: past(row.lateSince),
        since: row.since,
        tenant: row.tenant,
      })),
    ),
    inOrder(
      [...table.waiting].map(([event_ref, { at, isLinked, stream, subject }]) => ({
        event_ref,
        at,
        is_linked: isLinked,
        stream,
        subject,
      })),
    ),
  ];
  const subjects = Array.from({ length: 3 }, () => random.uuid());
  const shift = async () => {
    const ms = random.onceIn(2) ? SHIFT : (24 * 60 + 12) * MINUTE;
    await pool.query(
      `update ledger.payment_tenants set sync_due_at = sync_due_at - $1 * interval '1 ms',
         leased_until = leased_until - $1 * interval '1 ms'`,
      [ms],
    );
    for (const row of table.providers.values()) {
      if (row.syncDueAt !== null) row.syncDueAt -= ms;
      if (row.leasedUntil !== null) row.leasedUntil -= ms;
    }
  };
  const someEnd = (): SyncEnd => {
    const inMs = 60 * MINUTE;
    const beginsAnew = random.onceIn(2);
    return random.oneOf<SyncEnd>([
      { kind: 'done' },
      { kind: 'more' },
      { kind: 'not-connected' },
      { kind: 'postponed', inMs },
      { kind: 'suspended', inMs },
      { kind: 'failed', inMs, reason: 'no answer', beginsAnew },
    ]);
  };
  await alike(async () => {
    const process = presences[random.below(living)]!.id;
    const scope = random.oneOf(SCOPES);
    const [subject, at] = [random.oneOf(subjects), now - random.below(1_000) * MINUTE];
    const stream = `stream of ${subject}`;
    const eventRef = `event ${random.below(20)}`;
    const cursor = random.oneOf([null, 'page 2']);
    const atMost = 1 + random.below(2);
    const endOf = someEnd();
    const steps = {
      shift,
      noteEvent: () => both((rows) => rows.noteEvent(scope, at)),
      noteConnection: () => both((rows) => rows.noteConnection(scope)),
      addWaiting: () => both((rows) => rows.addWaiting(scope, stream, { eventRef, subject, at })),
      markLinked: () => both((rows) => rows.markLinked(stream)),
      claimSyncs: () => both((rows) => rows.claimSyncs(process, atMost)),
      keepSync: () => both((rows) => rows.keepSync({ ...scope, process }, { since: at, cursor })),
      endSync: () => both((rows) => rows.endSync({ ...scope, process }, endOf)),
      waitedKeys: () => both((rows) => rows.waitedKeys(at, 99)),
      dropWaited: () => both((rows) => rows.dropWaited(subject, at)),
      waitAgain: () => both((rows) => rows.waitAgain(subject, at)),
      end: async () => {
        if (living === 1) return;
        living = 1;
        table.present.delete(presences[1]!.id);
        await end(presences[1]!);
      },
    };
    const each = { noteEvent: 2, noteConnection: 2, addWaiting: 6, markLinked: 1, claimSyncs: 6 };
    const others = { keepSync: 4, endSync: 6, waitedKeys: 3, dropWaited: 1, waitAgain: 1 };
    const name = random.weighted({ shift: 6, ...each, ...others, end: 1 });
    await steps[name]();
    return [name, await stored(), simulated()];
  });
  await presences[0]!.stop();
  if (living === 2) await presences[1]!.stop();
});

/** Both sides have their own clocks. */
const withoutTime = (row: object): object =>
  'lastSyncAt' in row && 'lateSince' in row
    ? { ...row, lastSyncAt: row.lastSyncAt !== null, lateSince: row.lateSince !== null }
    : row;
