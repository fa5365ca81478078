import type { Projector } from '../src/projecting/projector.js';
import { accountsProjector } from './accounts/projector.js';
import { activityProjector } from './activity/projector.js';
import { dailyFiguresProjector } from './daily-figures/projector.js';
import { exportsProjector } from './exports/projector.js';
import { referralCodesProjector } from './referral-codes/projector.js';
import { referralsProjector } from './referrals/projector.js';
import { rewardBalancesProjector } from './reward-balances/projector.js';
import { rewardsProjector } from './rewards/projector.js';
import { usersProjector } from './users/projector.js';

export const accountProjectors: readonly Projector[] = [
  accountsProjector,
  usersProjector,
  referralCodesProjector,
  referralsProjector,
  rewardsProjector,
  rewardBalancesProjector,
  exportsProjector,
  dailyFiguresProjector,
  activityProjector,
];
