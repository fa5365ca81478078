import { accountOfId } from '../../../privacy/keyed-names.js';
import { notDoneAbout } from '../../outcome.js';
import { reason, text } from '../../registry/members.js';
import { recordedOperation } from '../../registry/operation.js';
import { actOnAccount, OF_USER, SUPPORT } from './account-action.js';

/** Also of a reward that a moderation cancelled: approving does not restore it then. */
export const cancelReward = recordedOperation({
  name: 'reward cancel',
  summary: 'cancels a reward of which nothing is redeemed',
  members: { account: OF_USER.account, reward: text, reason },
  ...SUPPORT,
  record: async (context, { account, reward: rewardId, reason: why }) => {
    const { core, scope } = context;
    if (accountOfId(rewardId) !== core.names.accountRef(scope, account))
      throw notDoneAbout('reward', 'There is no such reward in this account.');
    return actOnAccount(context, {
      asked: { account, rewardId, why },
      command: { type: 'CancelReward', rewardId, reason: why },
      parameters: { reward: rewardId },
      reason: why,
    });
  },
});
