import type { Pool } from 'pg';
import {
  ACCOUNTS,
  accountValues,
  type AccountListRow,
} from '../../../../projections/accounts/list-queries.js';
import { REFERRALS, referralValues } from '../../../../projections/referrals/list-queries.js';
import {
  BALANCES,
  balanceSums,
  balanceValues,
  type BalanceFilters,
  type BalanceSum,
} from '../../../../projections/reward-balances/list-queries.js';
import type { RewardBalanceQueries } from '../../../../projections/reward-balances/queries.js';
import {
  listedReward,
  REWARDS,
  rewardValues,
} from '../../../../projections/rewards/list-queries.js';
import { USERS, userValues } from '../../../../projections/users/list-queries.js';
import type { Scope } from '../../../domain/scope.js';
import type { LiveReads } from '../../../projecting/following/live-reads.js';
import { RowList, rowQueries } from '../../../projecting/following/row-lists.js';
import type { TenantDirectory } from '../../../tenants/tenant-directory.js';

/** The lists of customers: users, accounts, referrals, rewards, balances. */

interface Parts {
  /** The queries of a read model. */
  readonly reads: (readModel: string) => LiveReads<never>;
  readonly balances: RewardBalanceQueries;
  readonly tenants: Pick<TenantDirectory, 'find' | 'now'>;
  /** For files. */
  readonly pool: Pool;
}

/** The lists of customers, as an injectable class. */
export class CustomerReads {
  readonly users;
  readonly accounts;
  readonly referrals;
  readonly rewards;
  /** The balances of now: the figures of `ledger balances`. */
  readonly balances;
  /** Of all balances under the filters, by unit and currency. */
  readonly balanceSums: (scope: Scope, filters?: BalanceFilters) => Promise<readonly BalanceSum[]>;

  constructor({ reads, balances, tenants, pool }: Parts) {
    const now = (scope: Scope): Promise<number> => tenants.now(scope);
    this.users = rowQueries(
      new RowList(reads('users'), USERS),
      {
        valuesOf: userValues,
        shownWith: async ({ tenant }) => (await tenants.find(tenant))?.defaultProgramId ?? '',
        shown: (rows) => rows,
      },
      pool,
    );
    this.accounts = rowQueries(
      new RowList(reads('accounts'), ACCOUNTS),
      {
        valuesOf: accountValues,
        shownWith: now,
        // The balances of all these accounts are one statement: they are asked for in one turn.
        shown: (rows, at, scope) =>
          Promise.all(
            rows.map(async ({ accountRef, ...row }) => {
              const of = { accountRef, type: 'CREDIT', now: at } as const;
              return { ...row, balances: availableIn(await balances.list(scope, of)) };
            }),
          ),
      },
      pool,
    );
    this.referrals = rowQueries(
      new RowList(reads('referrals'), REFERRALS),
      { valuesOf: referralValues, shownWith: async () => undefined, shown: (rows) => rows },
      pool,
    );
    this.rewards = rowQueries(
      new RowList(reads('rewards'), REWARDS),
      {
        valuesOf: rewardValues,
        shownWith: now,
        shown: (rows, at) => rows.map((row) => listedReward(row, at)),
      },
      pool,
    );
    const ofBalances = reads('reward-balances');
    this.balances = rowQueries(
      new RowList(ofBalances, BALANCES),
      { valuesOf: balanceValues, shownWith: now, shown: (rows) => rows },
      pool,
    );
    this.balanceSums = async (scope, filters = {}) =>
      balanceSums(ofBalances, scope, balanceValues(filters, await now(scope)));
  }
}

/** A row of the list of accounts, with the credit that can be spent now. */
export interface AccountRowWithBalances extends Omit<AccountListRow, 'accountRef'> {
  readonly balances: ReturnType<typeof availableIn>;
}

/** By unit; a unit without available credit is left out. */
const availableIn = (found: Awaited<ReturnType<RewardBalanceQueries['list']>>) =>
  found.flatMap(({ unit, totalAvailableCredit: available }) =>
    unit === null || available === 0 ? [] : [{ unit, available }],
  );
