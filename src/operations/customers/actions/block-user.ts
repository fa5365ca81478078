import { reason } from '../../registry/members.js';
import { recordedOperation } from '../../registry/operation.js';
import { actOnAccount, OF_USER, SUPPORT } from './account-action.js';

const setBlocked = (operation: 'user block' | 'user unblock', summary: string) =>
  recordedOperation({
    name: operation,
    summary,
    members: { ...OF_USER, reason: reason.optional() },
    ...SUPPORT,
    record: (context, { account, user, reason: why }) => {
      const type = operation === 'user block' ? 'BlockUser' : 'UnblockUser';
      const command = { type, userId: user } as const;
      return actOnAccount(context, {
        operation,
        asked: { account, user, why },
        command,
        reason: why,
      });
    },
  });

export const blockUser = setBlocked('user block', 'blocks a user, who makes no further referrals');
export const unblockUser = setBlocked('user unblock', 'ends the block of a user');
