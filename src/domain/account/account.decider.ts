import type { Decision } from '../decision.js';
import type { AccountEvent } from './account.events.js';
import type { AccountState } from './account.state.js';
import { adjustCredit, type AdjustCredit } from './rewards/adjustment.js';
import {
  announceReferral,
  withdrawReferral,
  type AnnounceReferral,
  type WithdrawReferral,
} from './referral/announcements.js';
import {
  applyCustomer,
  cancelRefundedRewards,
  type ApplyCustomer,
  type CancelRefundedRewards,
} from './provider/apply-customer.js';
import { applyDiscount, type ApplyDiscount } from './provider/apply-discount.js';
import { blockUser, type BlockUser } from './moderation/blocking.js';
import { listRedeemedRewards, type ListRedeemedRewards } from './rewards/bulk-redemption.js';
import {
  completeErasure,
  forgetAccount,
  forgetUser,
  repeatErasure,
  type CompleteErasure,
  type ForgetAccount,
  type ForgetUser,
  type RepeatErasure,
} from './erasure/erasure.js';
import { flagReferral, type FlagReferral } from './referral/flag-referral.js';
import { grantEventReward, type GrantEventReward } from './rewards/grant-event-reward.js';
import { grantReferrerReward, type GrantReferrerReward } from './rewards/grant-referrer-reward.js';
import { upsertUser, type UpsertUser } from './users/identify-user.js';
import { lapseReservation, type LapseReservation } from './referral/lapse-reservation.js';
import { unsubscribeFromMails, type UnsubscribeFromMails } from './users/mail-wishes.js';
import {
  applyModeration,
  prepareModeration,
  releaseModeration,
  type ApplyModeration,
  type PrepareModeration,
  type ReleaseModeration,
} from './moderation/moderation-of-account.js';
import {
  redeemAccountCredit,
  redeemCredit,
  type RedeemAccountCredit,
  type RedeemCredit,
} from './rewards/redemption.js';
import {
  recordRewardPush,
  startRewardPush,
  type RecordRewardPush,
  type StartRewardPush,
} from './provider/reward-push.js';
import { applyCode, type ApplyCode } from './referral/referral.js';
import {
  cancelReward,
  createReward,
  settleReward,
  type CancelReward,
  type CreateReward,
  type SettleReward,
} from './rewards/rewards.js';
import { syncAccount, type SyncAccount } from './sync-account.js';
import { receiveUserEvents, type ReceiveUserEvents } from './users/user-events.js';

/** Every command of an account. */
export type AccountCommand =
  | SyncAccount
  | ApplyCustomer
  | CancelRefundedRewards
  | UpsertUser
  | ApplyCode
  | ApplyDiscount
  | BlockUser
  | UnsubscribeFromMails
  | CreateReward
  | CancelReward
  | RedeemCredit
  | RedeemAccountCredit
  | ListRedeemedRewards
  | AdjustCredit
  | ReceiveUserEvents
  | GrantReferrerReward
  | GrantEventReward
  | AnnounceReferral
  | WithdrawReferral
  | FlagReferral
  | LapseReservation
  | SettleReward
  | StartRewardPush
  | RecordRewardPush
  | PrepareModeration
  | ApplyModeration
  | ReleaseModeration
  | ForgetUser
  | ForgetAccount
  | CompleteErasure
  | RepeatErasure;

// eslint-disable-next-line max-lines-per-function -- a case for each command
export function decide(state: AccountState, command: AccountCommand): Decision<AccountEvent> {
  switch (command.type) {
    case 'SyncAccount':
      return syncAccount(state, command);
    case 'ApplyCustomer':
      return applyCustomer(state, command);
    case 'CancelRefundedRewards':
      return cancelRefundedRewards(state, command);
    case 'UpsertUser':
      return upsertUser(state, command);
    case 'ApplyCode':
      return applyCode(state, command);
    case 'ApplyDiscount':
      return applyDiscount(state, command);
    case 'BlockUser':
    case 'UnblockUser':
      return blockUser(state, command);
    case 'UnsubscribeFromMails':
      return unsubscribeFromMails(state, command);
    case 'CreateReward':
      return createReward(state, command);
    case 'CancelReward':
      return cancelReward(state, command);
    case 'RedeemCredit':
      return redeemCredit(state, command);
    case 'RedeemAccountCredit':
      return redeemAccountCredit(state, command);
    case 'ListRedeemedRewards':
      return listRedeemedRewards(state);
    case 'AdjustCredit':
      return adjustCredit(state, command);
    case 'ReceiveUserEvents':
      return receiveUserEvents(state, command);
    case 'GrantReferrerReward':
      return grantReferrerReward(state, command);
    case 'GrantEventReward':
      return grantEventReward(state, command);
    case 'AnnounceReferral':
      return announceReferral(state, command);
    case 'WithdrawReferral':
      return withdrawReferral(state, command);
    case 'FlagReferral':
      return flagReferral(state, command);
    case 'LapseReservation':
      return lapseReservation(state, command);
    case 'SettleReward':
      return settleReward(state, command);
    case 'StartRewardPush':
      return startRewardPush(state, command);
    case 'RecordRewardPush':
      return recordRewardPush(state, command);
    case 'PrepareModeration':
      return prepareModeration(state, command);
    case 'ApplyModeration':
      return applyModeration(state, command);
    case 'ReleaseModeration':
      return releaseModeration(state, command);
    case 'ForgetUser':
      return forgetUser(state, command);
    case 'ForgetAccount':
      return forgetAccount(state, command);
    case 'RepeatErasure':
      return repeatErasure(state, command);
    case 'CompleteErasure':
      return completeErasure(state, command);
  }
}
