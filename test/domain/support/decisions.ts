import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import type { AccountState } from '../../../src/domain/account/account.state.js';
import { adjustCredit } from '../../../src/domain/account/rewards/adjustment.js';
import {
  announceReferral,
  withdrawReferral,
} from '../../../src/domain/account/referral/announcements.js';
import {
  applyCustomer,
  cancelRefundedRewards,
} from '../../../src/domain/account/provider/apply-customer.js';
import { applyDiscount } from '../../../src/domain/account/provider/apply-discount.js';
import { blockUser } from '../../../src/domain/account/moderation/blocking.js';
import {
  listRedeemedRewards,
  type ListRedeemedRewards,
} from '../../../src/domain/account/rewards/bulk-redemption.js';
import {
  completeErasure,
  forgetAccount,
  forgetUser,
  repeatErasure,
} from '../../../src/domain/account/erasure/erasure.js';
import { flagReferral } from '../../../src/domain/account/referral/flag-referral.js';
import { grantEventReward } from '../../../src/domain/account/rewards/grant-event-reward.js';
import { grantReferrerReward } from '../../../src/domain/account/rewards/grant-referrer-reward.js';
import { upsertUser } from '../../../src/domain/account/users/identify-user.js';
import { lapseReservation } from '../../../src/domain/account/referral/lapse-reservation.js';
import { unsubscribeFromMails } from '../../../src/domain/account/users/unsubscribe-from-mails.js';
import {
  applyModeration,
  prepareModeration,
  releaseModeration,
} from '../../../src/domain/account/moderation/moderation-of-account.js';
import {
  redeemAccountCredit,
  redeemCredit,
} from '../../../src/domain/account/rewards/redemption.js';
import {
  recordRewardPush,
  startRewardPush,
} from '../../../src/domain/account/provider/reward-push.js';
import { applyCode } from '../../../src/domain/account/referral/referral.js';
import {
  cancelReward,
  createReward,
  settleReward,
} from '../../../src/domain/account/rewards/rewards.js';
import { takeBackReward } from '../../../src/domain/account/rewards/take-back-reward.js';
import { syncAccount } from '../../../src/domain/account/sync-account.js';
import { receiveUserEvents } from '../../../src/domain/account/users/user-events.js';
import type { Decision } from '../../../src/domain/decision.js';

/**
 * The decisions of an account with everything that they rest on, by the type of their argument.
 * `asked` (request-scenario.ts) is about what a command needs before.
 */
const DECISIONS = {
  SyncAccount: syncAccount,
  ApplyCustomer: applyCustomer,
  CancelRefundedRewards: cancelRefundedRewards,
  UpsertUser: upsertUser,
  ApplyCode: applyCode,
  ApplyDiscount: applyDiscount,
  UnsubscribeFromMails: unsubscribeFromMails,
  CreateReward: createReward,
  CancelReward: cancelReward,
  RedeemCredit: redeemCredit,
  RedeemAccountCredit: redeemAccountCredit,
  ListRedeemedRewards: (state: AccountState, _: ListRedeemedRewards) => listRedeemedRewards(state),
  AdjustCredit: adjustCredit,
  ReceiveUserEvents: receiveUserEvents,
  GrantReferrerReward: grantReferrerReward,
  GrantEventReward: grantEventReward,
  TakeBackReward: takeBackReward,
  AnnounceReferral: announceReferral,
  WithdrawReferral: withdrawReferral,
  FlagReferral: flagReferral,
  LapseReservation: lapseReservation,
  SettleReward: settleReward,
  StartRewardPush: startRewardPush,
  RecordRewardPush: recordRewardPush,
  PrepareModeration: prepareModeration,
  ApplyModeration: applyModeration,
  ReleaseModeration: releaseModeration,
  ForgetUser: forgetUser,
  ForgetAccount: forgetAccount,
  RepeatErasure: repeatErasure,
  CompleteErasure: completeErasure,
  BlockUser: blockUser,
  UnblockUser: blockUser,
};

type Decisions = typeof DECISIONS;
export type CompleteCommand = {
  [Type in keyof Decisions]: Parameters<Decisions[Type]>[1];
}[keyof Decisions];

export const decide = (state: AccountState, command: CompleteCommand): Decision<AccountEvent> =>
  DECISIONS[command.type](state, command as never);
