import { announceByMail } from './announce-by-mail.js';
import { applyProviderEvents } from './apply-provider-events.js';
import { finishAbandonedErasures } from './finish-abandoned-erasures.js';
import { finishAbandonedModerations } from './finish-abandoned-moderations.js';
import { flagReferralsMadeTooFast } from './flag-referrals-made-too-fast.js';
import { grantReferrerRewardEarnedByEvent } from './grant-referrer-reward-earned-by-event.js';
import { grantReferrerRewardWhenEarned } from './grant-referrer-reward-when-earned.js';
import { listRedeemedRewards } from './list-redeemed-rewards.js';
import { payRewardsByProvider } from './pay-rewards-by-provider.js';
import { moveWorkWithTheTestClock } from './move-work-with-the-test-clock.js';
import type { Policy } from '../reacting/policy.js';
import { settleRewardsOnTheirDates } from './settle-rewards-on-their-dates.js';

export const POLICIES: readonly Policy[] = [
  grantReferrerRewardWhenEarned,
  grantReferrerRewardEarnedByEvent,
  flagReferralsMadeTooFast,
  settleRewardsOnTheirDates,
  announceByMail,
  listRedeemedRewards,
  applyProviderEvents,
  payRewardsByProvider,
  finishAbandonedModerations,
  finishAbandonedErasures,
  moveWorkWithTheTestClock,
];
