import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import { refused } from '../../refusal.js';
import type { AccountEvent } from '../account.events.js';
import type { AccountState } from '../account.state.js';

/** A blocked user makes no successful referrals until unblocked. */
export type BlockUser = Command<'BlockUser' | 'UnblockUser', { userId: string }>;

export function blockUser(
  state: AccountState,
  { type, userId, now }: BlockUser,
): Decision<AccountEvent> {
  const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
  const user =
    state.status === 'open' && person !== undefined ? state.users.get(person) : undefined;
  if (!user) return refused('USER_NOT_FOUND');
  const isBlocked = user.dateBlocked !== null;
  if (type === 'BlockUser')
    return isBlocked
      ? refused('USER_ALREADY_BLOCKED')
      : { events: [{ type: 'UserBlocked', at: now, person: user.person }] };
  return isBlocked
    ? { events: [{ type: 'UserUnblocked', at: now, person: user.person }] }
    : refused('USER_NOT_BLOCKED');
}
