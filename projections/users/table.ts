import type { Profile } from '../../src/domain/account/account.events.js';
import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

/** Between the parts of a searched text: no search matches across it. */
export const SEARCH_SEPARATOR = '\u001f';

export type UserRow = {
  readonly person: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account_ref: string;
  readonly user_id: string;
  readonly email: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  /** Lower-case e-mail address, its folded form, folded name and id, separated. */
  readonly searched: string;
  readonly profile: Profile;
  /** Primary code per program id. */
  readonly primary_codes: Readonly<Record<string, string>>;
  readonly date_created: number;
  readonly date_blocked: number | null;
  readonly date_changed: number;
};

export const users = new TableOf<UserRow>({
  name: 'users',
  columns: {
    person: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    account_ref: 'text not null',
    user_id: 'text not null',
    email: 'text',
    first_name: 'text',
    last_name: 'text',
    searched: 'text not null',
    profile: 'jsonb not null',
    primary_codes: 'jsonb not null',
    date_created: 'bigint not null',
    date_blocked: 'bigint',
    date_changed: 'bigint not null',
  },
  primaryKey: ['person'],
  indexes: {
    by_account: { definition: '(account_ref, user_id)' },
    newest_first: { definition: '(tenant, mode, date_created desc, person)' },
    by_text: { definition: 'using gin (searched gin_trgm_ops)' },
  },
});

/** The data that all users of an account share. */
export type UserAccountRow = {
  readonly account_ref: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account_id: string | null;
  readonly payment_provider_id: string | null;
  /** The referred user of the account's referral. */
  readonly referred_person: string | null;
  readonly referred_by_code: string | null;
  /** The owner of that code. */
  readonly referred_by_person: string | null;
  readonly is_converted: boolean;
};

export const userAccounts = new TableOf<UserAccountRow>({
  name: 'user_accounts',
  columns: {
    account_ref: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    account_id: 'text',
    payment_provider_id: 'text',
    referred_person: 'text',
    referred_by_code: 'text',
    referred_by_person: 'text',
    is_converted: 'boolean not null',
  },
  primaryKey: ['account_ref'],
  indexes: {
    by_referrer: { definition: '(referred_by_person) where referred_by_person is not null' },
  },
});

export type UserCountRow = {
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly users: number;
};

/** Stored so that a list's total is one row. */
export const userCounts = new TableOf<UserCountRow>({
  name: 'user_counts',
  columns: { tenant: 'text not null', mode: 'text not null', users: 'bigint not null' },
  primaryKey: ['tenant', 'mode'],
  indexes: {},
});
