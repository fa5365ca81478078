import type { CustomFieldValue } from '../../domain/account/account.events.js';
import type { Scope } from '../../domain/scope.js';

/**
 * Rows of another program's files, with the ledger's answer to each. Missing columns have no
 * member; dates are epoch milliseconds.
 */

export type ImportKind = 'users' | 'referrals' | 'rewards';

/** A run imports one file. */
export interface ImportRun extends Scope {
  readonly kind: ImportKind;
  /** Decides rows against the ledger and earlier rows of the run, without recording them. */
  readonly dryRun: boolean;
}

export interface UserRow {
  readonly id: string;
  readonly accountId: string;
  readonly email?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly locale?: string;
  readonly countryCode?: string;
  readonly imageUrl?: string;
  readonly referralCode?: string;
  readonly dateCreated?: number;
  readonly segments?: readonly string[];
  readonly blocked?: boolean;
  readonly paymentProviderId?: string;
  readonly accountStatus?: string;
  readonly accountCurrency?: string;
  readonly customFields?: ReadonlyMap<string, CustomFieldValue>;
}

export interface ReferralRow {
  readonly referredAccount: string;
  readonly referredUser: string;
  /** Both members of a deleted referrer are missing. */
  readonly referrerAccount?: string;
  readonly referrerUser?: string;
  readonly id?: string;
  readonly programId?: string;
  readonly referralCodeUsed?: string;
  readonly dateReferralStarted?: number;
  readonly dateReferralPaid?: number;
  readonly dateReferralEnded?: number;
  readonly referredModerationStatus?: string;
  readonly referrerModerationStatus?: string;
  /** The `id` of a row of the rewards file. */
  readonly referredReward?: string;
  readonly referrerReward?: string;
}

export interface RewardRow {
  readonly type: string;
  readonly accountId: string;
  readonly userId: string;
  readonly id?: string;
  readonly unit?: string;
  readonly amount?: number;
  readonly redeemed?: number;
  readonly currency?: string;
  readonly discountPercent?: number;
  readonly fuelTankCode?: string;
  readonly fuelTankType?: string;
  readonly name?: string;
  readonly rewardSource?: string;
  readonly programId?: string;
  readonly dateGiven?: number;
  readonly dateScheduledFor?: number;
  readonly dateExpires?: number;
  readonly dateCancelled?: number;
  readonly cancellable?: boolean;
  /** Without `id`: number among equal rows of the file, from 1. */
  readonly equalRowNumber?: number;
}

export type ImportRow = UserRow | ReferralRow | RewardRow;

/** The recorded figures of a row of credit. */
export interface ControlFigures {
  /** In the row's spelling. */
  readonly unit: string;
  readonly rewards: number;
  readonly assigned: number;
  readonly redeemed: number;
  readonly available: number;
  /** The time of the decision, also in an earlier run: by it, credit is scheduled or expired. */
  readonly at: number;
}

export type RowOutcome =
  | {
      /** Unchanged: an earlier run or row imported it. */
      readonly kind: 'imported' | 'unchanged';
      /** Of a referral or reward; missing: the person was forgotten. */
      readonly ledgerId?: string;
      readonly control?: ControlFigures;
    }
  /** `CODE: sentence`, or `ROW_DIFFERS: <column>: "<imported>", now "<row>"`. */
  | { readonly kind: 'rejected'; readonly reason: string };

/** Imports rows of an account one after the other; other accounts may run concurrently. */
export type ImportsRow = (row: ImportRow) => Promise<RowOutcome>;
