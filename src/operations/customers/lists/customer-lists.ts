import type { Pool } from 'pg';
import type {
  AccountFilters,
  AccountListQueries,
  AccountListRow,
  AccountSort,
} from '../../../../projections/accounts/list-queries.js';
import type {
  ReferralFilters,
  ReferralListQueries,
  ReferralListRow,
  ReferralSort,
} from '../../../../projections/referrals/list-queries.js';
import type {
  BalanceFilters,
  BalanceListQueries,
  BalanceListRow,
  BalanceSort,
  BalanceSum,
} from '../../../../projections/reward-balances/list-queries.js';
import type { RewardBalanceQueries } from '../../../../projections/reward-balances/queries.js';
import type {
  RewardFilters,
  RewardListQueries,
  RewardListRow,
  RewardSort,
} from '../../../../projections/rewards/list-queries.js';
import type {
  UserFilters,
  UserListQueries,
  UserListRow,
  UserSort,
} from '../../../../projections/users/list-queries.js';
import type { Scope } from '../../../domain/scope.js';
import type {
  ListAnswer,
  ListFileRequest,
  ListRequest,
} from '../../../projecting/following/row-lists.js';
import type { TenantDirectory } from '../../../tenants/tenant-directory.js';

export type { ListAnswer, ListRequest } from '../../../projecting/following/row-lists.js';

/** The lists of customers: users, accounts, referrals, rewards, balances. */

/** The read models of the lists, as an injectable class. */
export class CustomerReads {
  constructor(
    readonly lists: {
      readonly users: UserListQueries;
      readonly accounts: AccountListQueries;
      readonly referrals: ReferralListQueries;
      readonly rewards: RewardListQueries;
      readonly balances: BalanceListQueries;
    },
    readonly balances: RewardBalanceQueries,
    readonly tenants: Pick<TenantDirectory, 'find' | 'now'>,
    /** For files: each holds a connection until it is read to its end. */
    readonly pool: Pool,
  ) {}
}

/** Credit of an account that can be spent now. */
export interface AvailableBalance {
  readonly unit: string;
  readonly available: number;
}

export interface AccountRowWithBalances extends Omit<AccountListRow, 'accountRef'> {
  /** By unit; a unit without available credit is left out. */
  readonly balances: readonly AvailableBalance[];
}

/** A page of the users. */
export async function listUsers(
  { lists, tenants }: CustomerReads,
  scope: Scope,
  request: ListRequest<UserFilters, UserSort>,
): Promise<ListAnswer<UserListRow>> {
  return lists.users.page(scope, request, await defaultProgramOf(tenants, scope));
}

/** All users under the filters, in their order: for a file. */
export async function* rowsOfUsers(
  { lists, tenants, pool }: CustomerReads,
  scope: Scope,
  request: ListFileRequest<UserFilters, UserSort>,
): AsyncGenerator<UserListRow> {
  const defaultProgram = await defaultProgramOf(tenants, scope);
  for await (const rows of lists.users.pieces(scope, request, { pool, defaultProgram }))
    yield* rows;
}

/** A page of the accounts. */
export async function listAccounts(
  reads: CustomerReads,
  scope: Scope,
  request: ListRequest<AccountFilters, AccountSort>,
): Promise<ListAnswer<AccountRowWithBalances>> {
  const { rows, ...answer } = await reads.lists.accounts.page(scope, request);
  return { ...answer, rows: await withBalances(reads, scope, rows) };
}

/** All accounts under the filters, in their order: for a file. */
export async function* rowsOfAccounts(
  reads: CustomerReads,
  scope: Scope,
  request: ListFileRequest<AccountFilters, AccountSort>,
): AsyncGenerator<AccountRowWithBalances> {
  for await (const rows of reads.lists.accounts.pieces(scope, request, reads.pool))
    yield* await withBalances(reads, scope, rows);
}

/** A page of the referrals. */
export const listReferrals = (
  { lists }: CustomerReads,
  scope: Scope,
  request: ListRequest<ReferralFilters, ReferralSort>,
): Promise<ListAnswer<ReferralListRow>> => lists.referrals.page(scope, request);

/** All referrals under the filters, in their order: for a file. */
export async function* rowsOfReferrals(
  { lists, pool }: CustomerReads,
  scope: Scope,
  request: ListFileRequest<ReferralFilters, ReferralSort>,
): AsyncGenerator<ReferralListRow> {
  for await (const rows of lists.referrals.pieces(scope, request, pool)) yield* rows;
}

/** A page of the rewards, by the time of the ledger. */
export async function listRewards(
  { lists, tenants }: CustomerReads,
  scope: Scope,
  request: ListRequest<RewardFilters, RewardSort>,
): Promise<ListAnswer<RewardListRow>> {
  return lists.rewards.page(scope, request, await tenants.now(scope));
}

/** All rewards under the filters, in their order: for a file. */
export async function* rowsOfRewards(
  { lists, tenants, pool }: CustomerReads,
  scope: Scope,
  request: ListFileRequest<RewardFilters, RewardSort>,
): AsyncGenerator<RewardListRow> {
  const now = await tenants.now(scope);
  for await (const rows of lists.rewards.pieces(scope, request, { pool, now })) yield* rows;
}

/** A page of the balances of now: the figures of `ledger balances`. */
export async function listBalances(
  { lists, tenants }: CustomerReads,
  scope: Scope,
  request: ListRequest<BalanceFilters, BalanceSort>,
): Promise<ListAnswer<BalanceListRow>> {
  return lists.balances.page(scope, request, await tenants.now(scope));
}

/** All balances of now under the filters, in their order: for a file. */
export async function* rowsOfBalances(
  { lists, tenants, pool }: CustomerReads,
  scope: Scope,
  request: ListFileRequest<BalanceFilters, BalanceSort>,
): AsyncGenerator<BalanceListRow> {
  const now = await tenants.now(scope);
  for await (const rows of lists.balances.pieces(scope, request, { pool, now })) yield* rows;
}

/** The sums of the balances of now, by unit and currency. */
export async function sumsOfBalances(
  { lists, tenants }: CustomerReads,
  scope: Scope,
  filters: BalanceFilters = {},
): Promise<readonly BalanceSum[]> {
  return lists.balances.sums(scope, filters, await tenants.now(scope));
}

const defaultProgramOf = async (
  tenants: Pick<TenantDirectory, 'find'>,
  { tenant }: Scope,
): Promise<string> => (await tenants.find(tenant))?.defaultProgramId ?? '';

/** The balances of all these accounts are one statement: they are asked for in one turn. */
async function withBalances(
  { balances, tenants }: CustomerReads,
  scope: Scope,
  rows: readonly AccountListRow[],
): Promise<AccountRowWithBalances[]> {
  const now = await tenants.now(scope);
  return Promise.all(
    rows.map(async ({ accountRef, ...row }) => {
      const found = await balances.list(scope, { accountRef, type: 'CREDIT', now });
      return {
        ...row,
        balances: found.flatMap(({ unit, totalAvailableCredit: available }) =>
          unit === null || available === 0 ? [] : [{ unit, available }],
        ),
      };
    }),
  );
}
