import { sql } from 'kysely';
import type { Scope } from '../../src/domain/scope.js';
import type { LiveReads } from '../../src/projecting/following/live-reads.js';
import {
  COUNTED_MAX,
  hasWords,
  listContext,
  nameOf,
  wordPatterns,
  type ListContext,
  type RowListing,
  type WordPatterns,
} from '../../src/projecting/following/row-lists.js';
import { currencyOfCents } from '../rewards/currency-queries.js';

/** All given ones must match. */
export interface BalanceFilters {
  /** In any case. */
  readonly unit?: string;
  /** Each word is a part of the account's id, or of one of its users: name, address or id. */
  readonly text?: string;
}

export type BalanceSort = 'opened' | 'account' | 'unit' | 'balance' | 'pending';

/** The credit of an account in one unit, which people of it have or had. */
export interface BalanceListRow {
  readonly account: string;
  /** Names of its first people, otherwise their ids. */
  readonly people: readonly string[];
  /** Of the account's CENTS. */
  readonly currency: string;
  /** As first spelled. */
  readonly unit: string;
  readonly available: number;
  /** Granted, and available at a later time. */
  readonly pending: number;
}

/** The credit of all accounts of one currency in one unit; exact, also beyond 2^53. */
export interface BalanceSum {
  readonly unit: string;
  readonly currency: string;
  readonly available: bigint;
  readonly pending: bigint;
}

type BalanceValues = WordPatterns & {
  readonly unitKey: string | undefined;
  readonly now: number;
};

const PEOPLE_NAMED = 3;

/**
 * Stored balances, and what dates that have passed change of them before their events.
 * @param ofAccount those of `a`; otherwise those of the tenant and mode.
 */
function parts({ given, gone, tableOf }: ListContext<BalanceValues>, ofAccount: boolean) {
  const where = sql`${
    ofAccount
      ? sql`account_ref = a.account_ref`
      : sql`tenant = ${given.tenant} and mode = ${given.mode}`
  } and type = 'CREDIT' and not ${gone.is(sql.ref('person'))}
    ${given.unitKey ? sql`and unit_key = ${given.unitKey}` : sql``}`;
  return sql`select account_ref, unit_key, unit, first_revision, available_credit as available,
      pending_credit as pending from ${tableOf('reward-balances', 'reward_balances')} where ${where}
    union all select account_ref, unit_key, null, null,
      case when phase = 'AVAILABLE' then redeemed - assigned
        when date_expires <= ${given.now} or redeems_automatically then 0
        else assigned - redeemed end,
      case when phase = 'PENDING' then redeemed - assigned else 0 end
    from ${tableOf('reward-balances', 'balance_items')}
    where ${where} and due_at <= ${given.now}`;
}

/** One row for each account and unit. */
const grouped = (context: ListContext<BalanceValues>, ofAccount: boolean) =>
  sql`(select account_ref, unit_key, account_ref || ' ' || unit_key as key,
    (array_agg(unit order by first_revision))[1] as unit,
    sum(available)::bigint as available, sum(pending)::bigint as pending
    from (${parts(context, ofAccount)}) parts group by account_ref, unit_key) b`;

const isFound = ({ given, tableOf }: ListContext<BalanceValues>) =>
  given.pattern &&
  sql<boolean>`(${hasWords(sql`lower(a.account_id)`, given)} or a.account_ref in (
    select u.account_ref from ${tableOf('users', 'users')} u
    where u.tenant = ${given.tenant} and u.mode = ${given.mode}
      and ${hasWords(sql.ref('u.searched'), given)}))`;

const OF_BALANCES: ReadonlySet<BalanceSort | undefined> = new Set(['unit', 'balance', 'pending']);

/** The balances of now, as pages and files list them. */
export const BALANCES: RowListing<BalanceValues, BalanceSort, BalanceListRow> = {
  name: 'balances_list',
  joins: ['accounts', 'users', 'rewards'],
  // A page in the order of accounts reads the balances of its own accounts only. An order of
  // balances needs all of them: together that takes a third of the time (200,000 accounts).
  from: (context, sort) =>
    OF_BALANCES.has(sort)
      ? sql`(${grouped(context, false)} join ${context.tableOf('accounts', 'accounts')} a
          on a.account_ref = b.account_ref)`
      : sql`(${context.tableOf('accounts', 'accounts')} a
          cross join lateral ${grouped(context, true)})`,
  scope: ['a.tenant', 'a.mode'],
  key: 'b.key',
  foundBy: sql`a.account_ref = split_part(page.key, ' ', 1)`,
  tiesAscend: false,
  joined: () => sql``,
  where: (context) => [isFound(context)],
  joinedBy: [],
  quickBy: [],
  orders: {
    opened: { by: sql.ref('a.date_opened') },
    // That of `ledger balances`.
    account: { by: sql`a.account_id collate "C"` },
    unit: { by: sql.ref('b.unit_key') },
    balance: { by: sql.ref('b.available') },
    pending: { by: sql.ref('b.pending') },
  },
  newest: 'opened',
  row: ({ tableOf }) => sql`json_build_object('account', a.account_id, 'people', array(
      select ${nameOf('u', sql.ref('u.user_id'))} from ${tableOf('users', 'users')} u
      where u.account_ref = a.account_ref order by u.user_id limit ${PEOPLE_NAMED}),
    'currency', ${currencyOfCents(tableOf)}, 'unit', b.unit, 'available', b.available,
    'pending', b.pending)`,
  about: (context) =>
    context.given.pattern ? undefined : sql`select from (${parts(context, false)}) parts`,
  // Rows of people are counted up to the limit; of fewer, the pairs of account and unit.
  counted: (context) => {
    if (context.given.pattern) return undefined;
    return sql`with few as materialized (
        select account_ref, unit_key from (${parts(context, false)}) parts limit ${COUNTED_MAX + 1})
      select case when (select count(*) from few) > ${COUNTED_MAX} then ${COUNTED_MAX + 1}
        else (select count(*) from (select distinct account_ref, unit_key from few) pairs) end`;
  },
};

/** @param now of the ledger, epoch milliseconds. */
export const balanceValues = ({ unit, text }: BalanceFilters, now: number): BalanceValues => ({
  unitKey: unit?.toLowerCase(),
  ...wordPatterns(text),
  now,
});

/** The sums of all rows, by unit and currency. */
export async function balanceSums(
  reads: LiveReads<never>,
  scope: Scope,
  values: BalanceValues,
): Promise<readonly BalanceSum[]> {
  const found = await reads.all({
    name: 'balances_list sums',
    prepared: false,
    slowOf: scope.tenant,
    joins: BALANCES.joins,
    values: { ...values, ...scope },
    build: (_rm, given, gone, tableOf) => {
      const context = listContext<BalanceValues>(given, gone, tableOf);
      const matching = isFound(context);
      return sql<{ json: Record<keyof BalanceSum, string> }>`
        select json_build_object('unit', min(unit), 'currency', currency,
          'available', sum(available)::text, 'pending', sum(pending)::text) as json
        from (select unit_key, unit, available, pending, ${currencyOfCents(tableOf)} as currency
          from (${parts(context, false)}) parts
          join ${tableOf('accounts', 'accounts')} a on a.account_ref = parts.account_ref
          ${matching ? sql`where ${matching}` : sql``}) held
        group by unit_key, currency order by unit_key, currency`;
    },
  });
  return found.map(({ unit, currency, available, pending }) => ({
    unit,
    currency,
    available: BigInt(available),
    pending: BigInt(pending),
  }));
}
