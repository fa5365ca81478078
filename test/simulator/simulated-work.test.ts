import { SeededRandom } from '../../simulator/seeded-random.js';
import { simulatedWork, WorkTable } from '../../simulator/simulated-work.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import {
  workStore,
  type ClaimedWork,
  type WorkOutcome,
  type WorkPayload,
} from '../../src/work-queue/work-items.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { newSeed } from '../support/new-seed.js';
import { alike, inOrder, line, MINUTE, SCOPES } from './support/alike.js';

/** The same calls in a random order, on the table of the work queue and on the simulated one. */

/** Of everything together. No two times of these tests come near each other by it. */
const SHIFT = 8 * MINUTE;

let random: SeededRandom;
let now: number;
let presences: readonly ProcessPresence[] = [];
const { pool } = useDatabase(6);
beforeEach(() => {
  random = new SeededRandom(newSeed('simulated work'));
  now = Date.now();
});

afterEach(() => Promise.all(presences.map((one) => one.stop())));

it('work of every kind', async () => {
  presences = [new ProcessPresence(pool), new ProcessPresence(pool)];
  for (const presence of presences) await presence.start();
  const present = new Set(presences.map(({ id }) => id));
  const table = new WorkTable({ now: () => now, elapsed: () => now }, present);
  let shifted = 0;
  const real = workStore(pool);
  const other = simulatedWork(table, line);
  const claims: { item: ClaimedWork; twin: ClaimedWork; by: number; kind: string }[] = [];
  let living = 2;
  const stored = async () => {
    const { rows } = await pool.query<object>(
      `select kind, id, tenant, lane, attempts, payload, woken::text, reason, claimed_by as "by",
         due_at <= now() as due, waiting_since <= now() as waits,
         claimed_until > now() as leased, given_up_at is not null as "isGivenUp"
       from ledger.work_items`,
    );
    return inOrder(rows);
  };
  const simulated = () =>
    inOrder(
      table.all.map(({ claim, dueAt, waitingSince, woken, ...row }) => ({
        kind: row.kind,
        id: row.id,
        tenant: row.tenant,
        lane: row.lane,
        attempts: row.attempts,
        payload: row.payload,
        woken: `${woken}`,
        reason: row.reason,
        by: claim && claim.by,
        due: dueAt <= now,
        waits: waitingSince <= now,
        leased: claim && claim.until > now,
        isGivenUp: row.isGivenUp,
      })),
    );
  const shift = async () => {
    await pool.query(
      `update ledger.work_items set due_at = due_at - $1 * interval '1 ms',
         waiting_since = waiting_since - $1 * interval '1 ms',
         claimed_at = claimed_at - $1 * interval '1 ms'`,
      [SHIFT],
    );
    now += SHIFT;
    shifted += SHIFT;
  };
  await alike(random, async () => {
    now = Math.max(Date.now(), now + 1);
    const by = random.below(living);
    const process = presences[by]!.id;
    const kind = random.oneOf(['k', 'l']);
    const { tenant, mode: lane } = random.oneOf(SCOPES);
    const id = `${tenant} ${lane} ${random.oneOf(['a', 'b', 'c'])}`;
    const dueAt = random.oneOf([null, now - shifted - 182 * MINUTE, now - shifted + 182 * MINUTE]);
    const payload: WorkPayload = random.onceIn(3) ? { more: 'x' } : { a: random.oneOf(['1', '2']) };
    const as = random.oneOf(['replacement', 'earlier', 'missing'] as const);
    const room = {
      kind,
      process,
      items: 99,
      ofTenant: 1 + random.below(3),
      ofLane: 1 + random.below(3),
      underWay: random.onceIn(3) ? ['acme'] : [],
      paused: random.onceIn(4) ? ['zeta live'] : [],
      narrow: random.onceIn(4) ? ['acme live'] : [],
      after: '',
      leaseMs: 1_000 * MINUTE,
    };
    const steps = {
      shift,
      add: async () => {
        const item = { kind, id, tenant, lane, payload };
        await real.add([{ ...item, dueAt }], as);
        await other.add([{ ...item, dueAt: dueAt && dueAt + shifted }], as);
      },
      wake: () => Promise.all([real.wake({ kind, id }), other.wake({ kind, id })]),
      claim: async () => {
        const [items, twins] = [await real.claim(room), await other.claim(room)];
        const places = (all: readonly ClaimedWork[]) =>
          all.map((one) => `${one.tenant} ${one.lane}`);
        expect([random.seed, places(twins).sort()]).toEqual([random.seed, places(items).sort()]);
        for (const item of items) {
          const twin = twins.find((one) => one.id === item.id);
          if (twin) claims.push({ item, twin, by, kind });
        }
      },
      settle: async () => {
        const one = random.oneOf([undefined, ...claims.slice(-8)]);
        if (one === undefined) return;
        const more = {
          ...(random.onceIn(3) && { isPostponed: true }),
          ...(random.onceIn(3) && { waits: true }),
          ...(random.onceIn(3) && { attempts: 0 }),
          ...(random.onceIn(3) && { payload: { b: '1' } }),
        };
        const again = { kind: 'again', after: { ms: random.oneOf([0, 60 * MINUTE]) } } as const;
        const outcome = random.oneOf<WorkOutcome>([
          { kind: 'done' },
          { kind: 'dead', reason: 'refused' },
          { ...again, reason: random.oneOf([null, 'no answer']), ...more },
        ]);
        const hands = { kind: one.kind, process: presences[one.by]!.id };
        await real.settle(hands, [{ item: one.item, outcome }]);
        await other.settle(hands, [{ item: one.twin, outcome }]);
      },
      orphans: async () => {
        const missed = living === 1 ? [presences[1]!.id] : [];
        const ids = random.onceIn(2) ? [id] : claims.map(({ item }) => item.id);
        const hands = { kind, process: presences[0]!.id, ids, missed };
        const gone = [await real.releaseOrphans(hands), await other.releaseOrphans(hands)];
        expect([random.seed, gone[1]]).toEqual([random.seed, gone[0]]);
      },
      end: async () => {
        if (living === 1) return;
        living = 1;
        present.delete(presences[1]!.id);
        await presences[1]!.stop();
        await eventually(async () => {
          const held = `select from pg_locks where locktype = 'advisory' and objid::bigint = $1`;
          return (await pool.query(held, [presences[1]!.id])).rowCount === 0;
        });
      },
    };
    const each = { shift: 4, add: 10, wake: 3, claim: 10, settle: 10, orphans: 3, end: 1 };
    const name = random.weighted(each);
    await steps[name]();
    return [name, await stored(), simulated()];
  });
  expect(claims.length).toBeGreaterThan(0);
});
