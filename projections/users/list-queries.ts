import { sql } from 'kysely';
import {
  hasWords,
  nameOf,
  within,
  wordPatterns,
  type RowListing,
  type WordPatterns,
} from '../../src/projecting/following/row-lists.js';

export const USER_STATES = ['Active', 'Blocked'] as const;
export type UserState = (typeof USER_STATES)[number];

export interface UserFilters {
  readonly state?: UserState;
  /** When the user was created, inclusive, epoch milliseconds. */
  readonly from?: number;
  readonly to?: number;
  readonly program?: string;
  /** The owner of the code, in any case; earlier codes included. */
  readonly code?: string;
  /** Each word is a part of the name, the address or the id. */
  readonly text?: string;
}

export const USER_SORTS = [
  'name',
  'userId',
  'accountId',
  'email',
  'code',
  'state',
  'created',
  'blocked',
] as const;
export type UserSort = (typeof USER_SORTS)[number];

/** Times are epoch milliseconds. */
export interface UserListRow {
  /** First and last name, otherwise the user's id. */
  readonly name: string;
  readonly userId: string;
  readonly accountId: string;
  readonly email: string | null;
  /** The primary code of the filtered program or the default one; null: none. */
  readonly code: string | null;
  readonly state: UserState;
  readonly created: number;
  readonly blocked: number | null;
}

type UserValues = Pick<UserFilters, 'state' | 'from' | 'to' | 'program'> &
  WordPatterns & {
    readonly codeKey: string | undefined;
    readonly shownProgram: string;
  };

const NAME = nameOf('u', sql.ref('u.user_id'));
const STATE = sql`case when u.date_blocked is null then 'Active' else 'Blocked' end`;
/** A column of the list, so that orders can name it. */
const CODE = sql.ref('code.shown');

export const USERS: RowListing<UserValues, UserSort, UserListRow> = {
  name: 'users_list',
  joins: ['referral-codes'],
  from: ({ tableOf }) => sql`${tableOf('users', 'users')} u`,
  scope: ['u.tenant', 'u.mode'],
  key: 'u.person',
  tiesAscend: true,
  joined: ({ given, tableOf }) => sql`
    left join ${tableOf('users', 'user_accounts')} a on a.account_ref = u.account_ref
    cross join lateral (select coalesce(u.primary_codes ->> ${given.shownProgram}::text,
      (select min(value) from jsonb_each_text(u.primary_codes))) as shown) code`,
  where: ({ given, tableOf }) => [
    given.state && sql`${STATE} = ${given.state}`,
    ...within('u.date_created', given),
    given.program && sql`u.primary_codes ->> ${given.program}::text is not null`,
    given.codeKey &&
      sql`u.person = (select person from ${tableOf('referral-codes', 'referral_codes')}
        where tenant = ${given.tenant} and mode = ${given.mode} and code_key = ${given.codeKey})`,
    hasWords(sql.ref('u.searched'), given),
  ],
  joinedBy: [],
  quickBy: [],
  orders: {
    name: { by: sql`lower(${NAME})` },
    userId: { by: sql.ref('u.user_id') },
    accountId: { by: sql.ref('a.account_id'), isJoined: true },
    email: { by: sql`lower(u.email)`, isNullable: true },
    code: { by: CODE, isNullable: true, isJoined: true },
    state: { by: STATE },
    created: { by: sql.ref('u.date_created') },
    blocked: { by: sql.ref('u.date_blocked'), isNullable: true },
  },
  newest: 'created',
  row: () =>
    sql`json_build_object('name', ${NAME}, 'userId', u.user_id,
    'accountId', coalesce(a.account_id, ''), 'email', u.email, 'code', ${CODE}, 'state', ${STATE},
    'created', u.date_created, 'blocked', u.date_blocked)`,
  counter: ({ given, tableOf }) => sql`select users from ${tableOf('users', 'user_counts')}
    where tenant = ${given.tenant} and mode = ${given.mode}`,
};

/** @param defaultProgram whose codes are shown where no program is filtered by. */
export const userValues = ({ code, text, ...filters }: UserFilters, defaultProgram: string) => ({
  ...filters,
  codeKey: code?.toLowerCase(),
  ...wordPatterns(text),
  shownProgram: filters.program ?? defaultProgram,
});
