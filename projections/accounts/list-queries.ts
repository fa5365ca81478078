import { sql } from 'kysely';
import {
  hasWords,
  nameOf,
  within,
  wordPatterns,
  type RowListing,
  type WordPatterns,
} from '../../src/projecting/following/row-lists.js';
import { currencyOfCents } from '../rewards/currency-queries.js';

export const ACCOUNT_STATES = ['Trial', 'Paid', 'Free', 'Cancelled'] as const;
export type AccountState = (typeof ACCOUNT_STATES)[number];

export interface AccountFilters {
  readonly state?: AccountState;
  /** Opening time, inclusive, epoch milliseconds. */
  readonly from?: number;
  readonly to?: number;
  /** Each word is a part of the account's id, or of one of its users: name, address or id. */
  readonly text?: string;
}

export const ACCOUNT_SORTS = [
  'accountId',
  'people',
  'currency',
  'state',
  'opened',
  'code',
] as const;
export type AccountSort = (typeof ACCOUNT_SORTS)[number];

/** Times are epoch milliseconds. */
export interface AccountListRow {
  readonly accountRef: string;
  readonly accountId: string;
  /** Names of its first people, otherwise their ids. */
  readonly people: readonly string[];
  readonly peopleCount: number;
  readonly currency: string;
  readonly currencyOfCents: string;
  readonly state: AccountState;
  readonly opened: number;
  /** The code that referred it; null: none, or its owner is forgotten. */
  readonly code: string | null;
}

type AccountValues = Pick<AccountFilters, 'state' | 'from' | 'to'> & WordPatterns;

const PEOPLE_NAMED = 3;

// An account that was created by its first user and has no other data is on trial.
const STATE = sql`initcap(coalesce(a.subscription ->> 'status', 'TRIAL'))`;

export const ACCOUNTS: RowListing<AccountValues, AccountSort, AccountListRow> = {
  name: 'accounts_list',
  joins: ['users', 'rewards'],
  from: ({ tableOf }) => sql`${tableOf('accounts', 'accounts')} a`,
  scope: ['a.tenant', 'a.mode'],
  key: 'a.account_ref',
  tiesAscend: true,
  joined: ({ gone, tableOf }) => sql`
    cross join lateral (select count(*) as counted from ${tableOf('users', 'users')} u
      where u.account_ref = a.account_ref) people
    cross join lateral (select case when ${gone.is(sql.ref('a.referrer_person'))} then null
      else a.referral_code end as used) code`,
  where: ({ given, tableOf }) => [
    given.state && sql`${STATE} = ${given.state}`,
    ...within('a.date_opened', given),
    given.pattern &&
      sql`(${hasWords(sql`lower(a.account_id)`, given)} or a.account_ref in (
        select u.account_ref from ${tableOf('users', 'users')} u
        where u.tenant = ${given.tenant} and u.mode = ${given.mode}
          and ${hasWords(sql.ref('u.searched'), given)}))`,
  ],
  joinedBy: [],
  quickBy: [],
  orders: {
    accountId: { by: sql.ref('a.account_id') },
    people: { by: sql.ref('people.counted'), isJoined: true },
    currency: { by: sql.ref('a.currency') },
    state: { by: STATE },
    opened: { by: sql.ref('a.date_opened') },
    code: { by: sql.ref('code.used'), isNullable: true, isJoined: true },
  },
  newest: 'opened',
  row: ({ tableOf }) => sql`json_build_object('accountRef', a.account_ref,
    'accountId', a.account_id, 'people', array(
      select ${nameOf('u', sql.ref('u.user_id'))} from ${tableOf('users', 'users')} u
      where u.account_ref = a.account_ref order by u.user_id limit ${PEOPLE_NAMED}),
    'peopleCount', people.counted, 'currency', a.currency,
    'currencyOfCents', ${currencyOfCents(tableOf)}, 'state', ${STATE},
    'opened', a.date_opened, 'code', code.used)`,
};

export const accountValues = ({ text, ...filters }: AccountFilters) => ({
  ...filters,
  ...wordPatterns(text),
});
