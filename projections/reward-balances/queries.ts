import { sql } from 'kysely';
import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import type { BalanceFacts } from '../../src/domain/account/account.facts.js';
import type { RewardType } from '../../src/domain/program.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import { inTextOrder } from '../../src/foundation/text-order.js';
import { isOfScope, type LiveReads } from '../../src/projecting/following/live-reads.js';
import { atTime, contribution, difference, sum, type Figures } from './contribution.js';
import type { BalanceItemRow, BalanceRow } from './table.js';

interface Tables {
  readonly balance_items: BalanceItemRow;
  readonly reward_balances: BalanceRow;
}

type SummedBalance = Figures & {
  readonly type: RewardType;
  readonly unit_key: string;
  readonly unit: string | null;
};

export interface BalanceFilter {
  readonly accountRef: AccountRef;
  /** In the client's spelling. Undefined: all users of the account. */
  readonly userId?: string;
  readonly type?: RewardType;
  /** Epoch milliseconds. */
  readonly now: number;
}

export class RewardBalanceQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  /**
   * One entry per type and unit, in that order, correct at `now`: the few rewards with a passed
   * date that no event records are moved to their bucket here, with the projector's arithmetic.
   */
  async list(
    { tenant, mode }: Scope,
    { accountRef, userId, type, now }: BalanceFilter,
  ): Promise<BalanceFacts[]> {
    const found = await this.reads.row({
      name: 'balances',
      types: FILTER_TYPES,
      values: { accountRef, tenant, mode, userId: userId ?? null, type: type ?? null, now },
      build: (rm, given, gone) =>
        rm.selectNoFrom((eb) => {
          // Raw: the builder has no index into an array.
          const summed = eb
            .selectFrom('reward_balances')
            .select(['type', 'unit_key'])
            .select((row) =>
              sql<
                string | null
              >`(array_agg(${row.ref('unit')} order by ${row.ref('first_revision')}))[1]`.as(
                'unit',
              ),
            )
            .select(({ fn }) => FIGURES.map((figure) => fn.sum<number>(figure).as(figure)))
            .where('account_ref', '=', given.accountRef)
            .where(isOfScope(['tenant', 'mode'], given))
            .where((row) => row('user_id', '=', row.fn.coalesce(given.userId, 'user_id')))
            .where((row) => row('type', '=', row.fn.coalesce(given.type, 'type')))
            .where((row) => row.not(gone.is(row.ref('person'))))
            .groupBy(['type', 'unit_key']);
          const due = eb
            .selectFrom('balance_items')
            .selectAll()
            .where('account_ref', '=', given.accountRef)
            .where('due_at', '<=', given.now)
            .where(isOfScope(['tenant', 'mode'], given))
            .where((row) => row('user_id', '=', row.fn.coalesce(given.userId, 'user_id')))
            .where((row) => row('type', '=', row.fn.coalesce(given.type, 'type')))
            .where((row) => row.not(gone.is(row.ref('person'))));
          return jsonBuildObject({ balances: jsonArrayFrom(summed), due: jsonArrayFrom(due) }).as(
            'json',
          );
        }),
    });
    const balances = new Map(
      (found?.balances ?? []).map((balance) => [`${balance.type} ${balance.unit_key}`, balance]),
    );
    for (const item of found?.due ?? []) {
      const key = `${item.type} ${item.unit_key}`;
      const balance = balances.get(key);
      if (balance)
        balances.set(key, {
          ...balance,
          ...sum(difference(balance, contribution(item)), contribution(atTime(item, now))),
        });
    }
    return [...balances.values()].sort(byTypeThenUnit).map(balanceFacts);
  }
}

const FILTER_TYPES = {
  accountRef: 'text',
  tenant: 'text',
  mode: 'text',
  userId: 'text',
  type: 'text',
  now: 'bigint',
} as const;

const FIGURES: readonly (keyof Figures)[] = [
  ...([
    'count',
    'redeemed_credit',
    'available_credit',
    'pending_credit',
    'expired_credit',
    'cancelled_credit',
  ] as const),
  ...(['discount_percent', 'referred_percent', 'referrer_percent', 'fuel_tank_codes'] as const),
];

const byTypeThenUnit = (a: SummedBalance, b: SummedBalance): number =>
  inTextOrder(a.type, b.type) || inTextOrder(a.unit_key, b.unit_key);

function balanceFacts(balance: SummedBalance): BalanceFacts {
  return {
    type: balance.type,
    unit: balance.unit,
    count: balance.count,
    totalRedeemedCredit: balance.redeemed_credit,
    totalAvailableCredit: balance.available_credit,
    totalPendingCredit: balance.pending_credit,
    totalExpiredCredit: balance.expired_credit,
    totalCancelledCredit: balance.cancelled_credit,
    totalDiscountPercent: balance.discount_percent,
    referredDiscountPercent: balance.referred_percent,
    referrerDiscountPercent: balance.referrer_percent,
    totalFuelTankCodes: balance.fuel_tank_codes,
  };
}
