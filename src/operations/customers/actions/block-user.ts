import { reason } from '../../registry/members.js';
import { recordedOperation } from '../../registry/operation.js';
import { actOnAccount, OF_USER, SUPPORT } from './account-action.js';

const setBlocked = (type: 'BlockUser' | 'UnblockUser', summary: string) =>
  recordedOperation({
    name: type === 'BlockUser' ? 'user block' : 'user unblock',
    summary,
    members: { ...OF_USER, reason: reason.optional() },
    ...SUPPORT,
    record: (context, { account, user, reason: why }) =>
      actOnAccount(context, {
        asked: { account, user, why },
        command: { type, userId: user },
        reason: why,
      }),
  });

export const blockUser = setBlocked('BlockUser', 'blocks a user, who makes no further referrals');
export const unblockUser = setBlocked('UnblockUser', 'ends the block of a user');
