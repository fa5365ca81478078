import fc from 'fast-check';
import { accountProjectors } from '../../projections/account-projectors.js';
import {
  atTime,
  contribution,
  NOTHING,
  sum,
  type BalanceItem,
  type Figures,
} from '../../projections/reward-balances/contribution.js';
import { inTransaction } from '../../src/postgres/transaction.js';
import type { Checkpoint } from '../../src/projecting/checkpoints.js';
import {
  createGeneration,
  ensureLiveGenerations,
} from '../../src/projecting/generations/generations.js';
import { schemaOf } from '../../src/projecting/identifiers.js';
import { decodePage } from '../../src/projecting/page.js';
import { postgresRowsOf } from '../../src/projecting/following/projection-stores.js';
import { ProjectionTrack } from '../../src/projecting/following/projection-track.js';
import { AccountHistory, historyStep } from '../support/account-history.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { runs } from '../support/property-runs.js';

/**
 * The same history, applied in batches of any size, must leave the same rows as one event at a
 * time: keys, folding, loading and writing all take part.
 */

describe('any history', () => {
  let projected: ProjectedLedger;
  /** Three builds of the same log: event by event, in batches of changing size, and as a whole. */
  let builds: readonly (readonly ProjectionTrack[])[];
  beforeAll(async () => {
    projected = await ProjectedLedger.open();
    await ensureLiveGenerations(projected.pool, accountProjectors);
    builds = [await newTracks(2), await newTracks(3), await newTracks(4)];
  });
  afterAll(() => projected.close());

  async function newTracks(generation: number): Promise<ProjectionTrack[]> {
    await inTransaction(projected.pool, async (client) => {
      for (const projector of accountProjectors)
        await createGeneration(client, projector, generation, 'building');
    });
    const start: Checkpoint = {
      projection: '',
      generation,
      position: undefined,
      version: '0',
      lastError: null,
      updatedAt: 0,
    };
    const known = new Set(accountProjectors.flatMap((projector) => [...projector.handles]));
    const tracks = accountProjectors.map(
      (projector) =>
        new ProjectionTrack(projector, generation, {
          rows: postgresRowsOf(projected.pool, projector, generation),
          log: projected.log,
          knownTypes: known,
        }),
    );
    await Promise.all(tracks.map((track) => track.restoreFrom(start)));
    return tracks;
  }

  /** Applies what is in the log after `after`, in pages of these sizes, over and over. */
  async function build(
    tracks: readonly ProjectionTrack[],
    after: string | undefined,
    sizes: readonly number[],
  ): Promise<void> {
    let at = after;
    for (let number = 0; ; number++) {
      const page = await decodePage(
        await projected.log.readAll(at, sizes[number % sizes.length] ?? 1),
        projected.ledger.decode,
      );
      if (!page) return;
      await Promise.all(tracks.map((track) => track.apply(page)));
      at = page.last;
    }
  }

  /** What a build has of one tenant, every table and every row of it. */
  async function rowsOf(
    tracks: readonly ProjectionTrack[],
    tenant: string,
  ): Promise<Record<string, unknown[]>> {
    const tables = tracks.flatMap(({ projector, generation }) =>
      projector.tables.map((table) => ({ projection: projector.name, generation, table })),
    );
    const dumps = await Promise.all(
      tables.map(async ({ projection, generation, table }) => {
        const order = table.primaryKey.map((column) => `"${column}"`).join(', ');
        const { rows } = await projected.pool.query<{ row: unknown }>(
          `select to_jsonb(t) as row from ${schemaOf(projection, generation)}."${table.name}" t where tenant = $1 order by ${order}`,
          [tenant],
        );
        return [`${projection}/${table.name}`, rows.map(({ row }) => row)] as const;
      }),
    );
    return Object.fromEntries(dumps);
  }

  const parkedCount = async (tenant: string) =>
    (
      await projected.pool.query<{ n: number }>(
        'select count(*)::integer as n from ledger.parked_events where stream like $1',
        [`account-${tenant}-%`],
      )
    ).rows[0]?.n;

  test('leaves the same rows in batches of any size as one event at a time, and balances are the sum of their rewards', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(historyStep, { minLength: 20, maxLength: 90 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        async (steps, sizes) => {
          const start = await projected.log.head();
          // A tenant of its own for every history: nothing of another one can be in its rows.
          const tenant = `h${(run += 1)}`;
          const history = new AccountHistory(tenant);
          for (const happens of steps) {
            const happened = history.next(happens);
            if (happened) await projected.ledger.happened(...happened);
          }
          const [single = [], batched = [], whole = []] = builds;
          await Promise.all([
            build(single, start, [1]),
            build(batched, start, sizes),
            build(whole, start, [1_000]),
          ]);
          const rows = await rowsOf(single, tenant);
          expect(await rowsOf(batched, tenant)).toEqual(rows);
          expect(await rowsOf(whole, tenant)).toEqual(rows);
          expect(balancesIn(rows)).toEqual(sumsOfItemsIn(rows));
          expect(countsIn(rows)).toBe((rows['referrals/referrals'] ?? []).length);
          expect(await parkedCount(tenant)).toBe(0);
        },
      ),
      { numRuns: runs(15) },
    );
  }, 120_000);

  test('has balances that move with the clock exactly as their rewards do', () => {
    const item = fc.record<BalanceItem>({
      type: fc.constantFrom('CREDIT', 'PCT_DISCOUNT', 'FUELTANK'),
      source: fc.constantFrom('REFERRED', 'FRIEND_SIGNUP', 'MANUAL'),
      phase: fc.constantFrom('PENDING', 'AVAILABLE', 'EXPIRED'),
      cancelled: fc.boolean(),
      assigned: fc.integer({ min: 10, max: 20 }),
      redeemed: fc.nat(10),
      percent: fc.nat(100),
      date_scheduled_for: fc.option(fc.nat(10)),
      date_expires: fc.option(fc.integer({ min: 10, max: 20 })),
      redeems_automatically: fc.boolean(),
    });
    fc.assert(
      fc.property(item, fc.nat(30), (reward, now) => {
        const figures = contribution(atTime(reward, now));
        expect(
          Object.values(figures).every((figure) => Number.isInteger(figure) && figure >= 0),
        ).toBe(true);
        if (reward.type !== 'CREDIT') return;
        const {
          redeemed_credit,
          available_credit,
          pending_credit,
          expired_credit,
          cancelled_credit,
        } = figures;
        // Nothing is made and nothing lost: whatever the clock says, it is all in some bucket.
        expect(
          redeemed_credit + available_credit + pending_credit + expired_credit + cancelled_credit,
        ).toBe(reward.assigned);
        if (reward.date_expires !== null && reward.date_expires <= now)
          expect(available_credit + pending_credit).toBe(0);
      }),
    );
  });
});

type Dump = Readonly<Record<string, unknown[]>>;
type Keyed = Figures & { account_ref: string; person: string; type: string; unit_key: string };
const keyOf = ({ account_ref, person, type, unit_key }: Keyed): string =>
  [account_ref, person, type, unit_key].join(' ');
const figuresOf = (row: Figures): Figures =>
  Object.fromEntries(
    Object.keys(NOTHING).map((figure) => [figure, row[figure as keyof Figures]]),
  ) as unknown as Figures;

function balancesIn(rows: Dump): Record<string, Figures> {
  return Object.fromEntries(
    (rows['reward-balances/reward_balances'] as Keyed[]).map((row) => [keyOf(row), figuresOf(row)]),
  );
}

function sumsOfItemsIn(rows: Dump): Record<string, Figures> {
  const sums: Record<string, Figures> = {};
  for (const item of rows['reward-balances/balance_items'] as (Keyed & BalanceItem)[]) {
    sums[keyOf(item)] = sum(sums[keyOf(item)] ?? NOTHING, contribution(item));
  }
  return sums;
}

function countsIn(rows: Dump): number {
  const counts = rows['referrals/referral_counts'] as {
    counted_by: string;
    referrals: Record<string, number>;
  }[];
  return counts
    .filter(({ counted_by }) => counted_by === 'all')
    .flatMap(({ referrals }) => Object.values(referrals))
    .reduce((total, number) => total + number, 0);
}
