import type { Personal } from '../../personal.js';
import type { GrantTerms, RewardTerms, RewardValue } from '../../program.js';
import type { EventField, PersonId, Subscription } from '../account.events.js';
import type { Seen } from '../seen.js';
import type { UserFields } from '../user-grant.js';

/**
 * Requests of an account before any look-up. Codes are as sent, in order of precedence. Times, ids
 * and facts of other streams are part of the circumstances.
 */
export type AccountRequest =
  | {
      readonly type: 'SyncAccount';
      readonly accountId: string;
      readonly subscription: Subscription;
      readonly currency: string | undefined;
      readonly codes: readonly string[];
    }
  | UpsertUserRequest
  | {
      readonly type: 'ApplyCode';
      readonly userId: string;
      readonly code: string;
      readonly seen?: Seen | undefined;
    }
  | { readonly type: 'BlockUser' | 'UnblockUser'; readonly userId: string }
  | {
      readonly type: 'CreateReward';
      readonly userId: string;
      readonly value: RewardValue;
      readonly name: string | null;
      readonly description: string | null;
      readonly cancellable: boolean;
      readonly dateScheduledFor: number | null;
      readonly dateExpires: number | null;
    }
  /** `preserveEmptyAccount` false: the account is deleted with its last user. */
  | {
      readonly type: 'ForgetUser';
      readonly userId: string;
      readonly doNotTrack: boolean;
      readonly preserveEmptyAccount: boolean;
    }
  | { readonly type: 'ForgetAccount'; readonly doNotTrack: boolean }
  | {
      readonly type: 'ReceiveUserEvents';
      readonly userId: string;
      readonly seen?: Seen | undefined;
      /** `id` and `dateTriggered` undefined: assigned here. */
      readonly events: readonly {
        readonly id: string | undefined;
        readonly key: string;
        readonly fields: Readonly<Record<string, EventField>>;
        readonly dateTriggered: number | undefined;
      }[];
      readonly idempotencyKey: string | undefined;
    }
  | { readonly type: 'CancelReward' | 'SettleReward'; readonly rewardId: string }
  | {
      readonly type: 'RedeemCredit';
      readonly rewardId: string;
      readonly amount: number;
      readonly unit: string;
    }
  | { readonly type: 'RedeemAccountCredit'; readonly amount: number; readonly unit: string }
  | {
      readonly type: 'AdjustCredit';
      readonly userId: string;
      readonly unit: string;
      /** Above zero adds, below zero takes away. */
      readonly amount: number;
      readonly reason: string;
      readonly approvedBy: Personal<string>;
      readonly by: Personal<string>;
    }
  | {
      readonly type: 'GrantReferrerReward';
      readonly referralId: string;
      readonly person: PersonId;
      readonly terms: RewardTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly earnedAt: number;
    }
  | {
      readonly type: 'GrantEventReward';
      readonly referralId: string;
      readonly userEventId: string;
      readonly person: PersonId;
      readonly terms: GrantTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly rule: string;
      readonly earnedAt: number;
    }
  | { readonly type: 'ListRedeemedRewards' }
  | { readonly type: 'FlagReferral'; readonly referralId: string };

export interface UpsertUserRequest extends UserFields {
  readonly type: 'UpsertUser';
  readonly userId: string;
  /** The account's id, to open a missing account. */
  readonly openAccount?: string;
  readonly mustBeNew?: boolean;
  /** The fields that the caller may write; undefined: all. */
  readonly granted?: UserFields | undefined;
  /** The user's address, when the user called. */
  readonly seen?: Seen | undefined;
}
