// Over 5 s: a property over histories that a Postgres writes twice, live and rebuilt.
import fc from 'fast-check';
import { accountProjectors } from '../../projections/account-projectors.js';
import {
  contribution,
  NOTHING,
  sum,
  type BalanceItem,
  type Figures,
} from '../../projections/reward-balances/contribution.js';
import type { Projector } from '../../src/projecting/projector.js';
import { AccountHistory, historyStepWithErasures } from '../support/account-history.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { Rebuilding } from '../support/rebuilding.js';
import { runs } from '../support/property-runs.js';

/**
 * A rebuild applies the log in pages of its own size: the rows must be those that the live runner
 * made in other batches. Keys, loading, applying and writing all take part.
 */

const ALL = accountProjectors.map(({ name }) => name);

/** Parks some streams, so that what is kept back is compared, too. */
const picky: readonly Projector[] = accountProjectors.map((projector) => ({
  ...projector,
  apply: (event, rows) => {
    projector.apply(event, rows);
    if (event.event.type === 'UserProfileChanged' && event.event.at % 17 === 0)
      throw new Error('contradiction');
    if (event.event.type === 'CreditRedeemed' && event.event.at % 13 === 0)
      throw new Error('contradiction');
  },
}));

type Keyed = Figures & { account_ref: string; person: string; type: string; unit_key: string };
const keyOf = ({ account_ref, person, type, unit_key }: Keyed): string =>
  [account_ref, person, type, unit_key].join(' ');
const figuresOf = (row: Figures): Figures =>
  Object.fromEntries(
    Object.keys(NOTHING).map((figure) => [figure, row[figure as keyof Figures]]),
  ) as unknown as Figures;

async function expectSumsToAgree(rebuilding: Rebuilding): Promise<void> {
  const balances = await rebuilding.rowsOf('reward-balances', 1);
  const sums: Record<string, Figures> = {};
  for (const item of balances['balance_items'] as unknown as (Keyed & BalanceItem)[])
    sums[keyOf(item)] = sum(sums[keyOf(item)] ?? NOTHING, contribution(item));
  const rows = balances['reward_balances'] as unknown as Keyed[];
  expect(Object.fromEntries(rows.map((row) => [keyOf(row), figuresOf(row)]))).toEqual(sums);
  const { referrals = [], referral_counts: counts } = await rebuilding.rowsOf('referrals', 1);
  const counted = (counts as { counted_by: string; referrals: Record<string, number> }[])
    .filter(({ counted_by }) => counted_by === 'all')
    .flatMap((row) => Object.values(row.referrals));
  expect(counted.reduce((total, number) => total + number, 0)).toBe(referrals.length);
}

test('any history: a rebuild leaves the rows, the parked events and the position of the live generation, balances are the sum of their rewards, and no difference is found', async () => {
  const projected = await ProjectedLedger.open();
  try {
    const rebuilding = new Rebuilding(projected, picky);
    const runner = projected.startRunner({ projectors: picky, pageSize: 7 });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(historyStepWithErasures, { minLength: 30, maxLength: 120 }),
        fc.constantFrom(1, 5, 2_000),
        async (steps, pageSize) => {
          const history = new AccountHistory(`h${(run += 1)}`);
          for (const step of steps) {
            const happened = history.next(step);
            if (happened) await projected.ledger.happened(...happened);
          }
          const head = await projected.log.head();
          expect(await runner.waitFor(head ?? '', ALL, 10_000)).toBe(true);
          await expectSumsToAgree(rebuilding);
          const built = await rebuilding.rebuild(ALL, { pageSize });
          expect(
            built.map(({ projection, position, differences }) => ({
              projection,
              position,
              differences,
            })),
          ).toEqual(ALL.map((projection) => ({ projection, position: head, differences: 0 })));
          for (const { projection, generation, liveGeneration } of built) {
            expect(await rebuilding.rowsOf(projection, generation)).toEqual(
              await rebuilding.rowsOf(projection, liveGeneration),
            );
            expect(await rebuilding.parkedOf(projection, generation)).toEqual(
              await rebuilding.parkedOf(projection, liveGeneration),
            );
          }
        },
      ),
      { numRuns: runs(6) },
    );
  } finally {
    await projected.close();
  }
});
