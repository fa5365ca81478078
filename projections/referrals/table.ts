import type { FraudSignal } from '../../src/domain/account/account.events.js';
import type { SideStatus } from '../../src/domain/program.js';
import type { LedgerMode } from '../../src/domain/scope.js';
import { isCountsByName } from '../../src/projecting/stored-values.js';
import { TableOf } from '../../src/projecting/table.js';

export type ReferralRow = {
  readonly referral_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly program_id: string;
  readonly referred_account_ref: string;
  readonly referred_person: string;
  /** Clients' ids; null once the person is forgotten. */
  readonly referred_account_id: string | null;
  readonly referred_user_id: string | null;
  readonly referrer_account_ref: string;
  readonly referrer_person: string;
  readonly referrer_account_id: string | null;
  readonly referrer_user_id: string | null;
  readonly referral_code_used: string | null;
  readonly share_link_used: string | null;
  readonly referred_status: SideStatus;
  readonly referrer_status: SideStatus;
  readonly fraud_signals: Readonly<Record<string, FraudSignal>>;
  readonly date_started: number;
  readonly date_paid: number | null;
  readonly date_ended: number | null;
  readonly date_moderated: number;
  readonly date_changed: number;
};

/**
 * Most sides are approved: lists of other statuses have small indexes, and approved ones use
 * `newest_first`. An account is referred once, so `by_referred_account` finds a row or two.
 */
export const referrals = new TableOf<ReferralRow>({
  name: 'referrals',
  columns: {
    referral_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    program_id: 'text not null',
    referred_account_ref: 'text not null',
    referred_person: 'text not null',
    referred_account_id: 'text',
    referred_user_id: 'text',
    referrer_account_ref: 'text not null',
    referrer_person: 'text not null',
    referrer_account_id: 'text',
    referrer_user_id: 'text',
    referral_code_used: 'text',
    share_link_used: 'text',
    referred_status: 'text not null',
    referrer_status: 'text not null',
    fraud_signals: 'jsonb not null',
    date_started: 'bigint not null',
    date_paid: 'bigint',
    date_ended: 'bigint',
    date_moderated: 'bigint not null',
    date_changed: 'bigint not null',
  },
  primaryKey: ['referral_id'],
  indexes: {
    newest_first: { definition: '(tenant, mode, date_started desc, referral_id)' },
    by_referrer_account: { definition: '(referrer_account_ref, date_started desc, referral_id)' },
    by_referrer_user: {
      definition: '(tenant, mode, referrer_user_id, date_started desc, referral_id)',
    },
    by_referred_account: { definition: '(referred_account_ref)' },
    by_referred_user: {
      definition: '(tenant, mode, referred_user_id, date_started desc, referral_id)',
    },
    by_referred_status: {
      definition: `(tenant, mode, referred_status, date_started desc, referral_id) where referred_status <> 'APPROVED'`,
    },
    by_referrer_status: {
      definition: `(tenant, mode, referrer_status, date_started desc, referral_id) where referrer_status <> 'APPROVED'`,
    },
    by_date_paid: { definition: '(tenant, mode, date_paid) where date_paid is not null' },
    by_date_ended: { definition: '(tenant, mode, date_ended) where date_ended is not null' },
  },
});

export const REWARDED_SIDES = ['referred', 'referrer'] as const;
export type RewardedSide = (typeof REWARDED_SIDES)[number];

export type ReferralRewardRow = {
  readonly referral_id: string;
  readonly side: RewardedSide;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly reward_id: string;
  readonly date_granted: number;
};

/**
 * Separate from referrals, since the referrer's reward is an event of another account: every row
 * comes from one account's stream, so that an account can be repaired alone.
 */
export const referralRewards = new TableOf<ReferralRewardRow>({
  name: 'referral_rewards',
  columns: {
    referral_id: 'text not null',
    side: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    reward_id: 'text not null',
    date_granted: 'bigint not null',
  },
  primaryKey: ['referral_id', 'side'],
  indexes: {},
});

export type DecidedSides = 'referred' | 'referrer' | 'both' | 'none';

export type ReferralDecisionRow = {
  readonly referral_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly referred_account_ref: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The kind of its actor: `operator`, `cli`, `api-key` … */
  readonly actor_kind: string;
  /** Keyed id of an operator's name; null: a client or a job. */
  readonly staff: string | null;
  readonly sides: DecidedSides;
  /** Null: none was given, or the referred person is forgotten. */
  readonly reason: string | null;
};

/** A separate table: few referrals are moderated, and the lists of referrals do not need it. */
export const referralDecisions = new TableOf<ReferralDecisionRow>({
  name: 'referral_decisions',
  columns: {
    referral_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    referred_account_ref: 'text not null',
    at: 'bigint not null',
    actor_kind: 'text not null',
    staff: 'text',
    sides: 'text not null',
    reason: 'text',
  },
  primaryKey: ['referral_id'],
  indexes: {
    newest_first: { definition: '(tenant, mode, at desc, referral_id)' },
    by_account: { definition: '(referred_account_ref)' },
  },
});

/** The party is '' for all, an account's ref, a user's id, or both separated by a slash. */
export const COUNTED_BY = [
  'all',
  'referrer-account',
  'referrer-user',
  'referrer-account-user',
  'referred-user',
] as const;
export type CountedBy = (typeof COUNTED_BY)[number];

export type ReferralCountRow = {
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly counted_by: CountedBy;
  readonly party: string;
  /** Positive numbers by `<referred status> <referrer status>`: at most nine. */
  readonly referrals: Readonly<Record<string, number>>;
};

/** Makes a list's total one row. Rows of zeros are deleted: they may name a person. */
export const referralCounts = new TableOf<ReferralCountRow>({
  name: 'referral_counts',
  columns: {
    tenant: 'text not null',
    mode: 'text not null',
    counted_by: 'text not null',
    party: 'text not null',
    referrals: 'jsonb not null',
  },
  primaryKey: ['tenant', 'mode', 'counted_by', 'party'],
  indexes: {},
  checks: { referrals: isCountsByName },
});
