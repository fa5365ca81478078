import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { AccountEvent } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import { holdOn, referralOf } from './former-referrals.js';
import { signal } from './fraud-signals.js';

/**
 * Later referrals of the referrer exceed the rate limit together with this one. Sent by a policy,
 * at least once, perhaps before the referral starts: it then starts with the signal.
 */
export type FlagReferral = Command<'FlagReferral', { referralId: string }>;

export function flagReferral(
  state: AccountState,
  { referralId, now }: FlagReferral,
): Decision<AccountEvent> {
  const referral = referralOf(state, referralId);
  if (state.status === 'absent' && !referral) return { events: [] };
  const before = state.status === 'open' ? state.flagged.get(referralId) : undefined;
  if (Object.hasOwn(referral?.fraudSignals ?? before ?? {}, 'rate')) return { events: [] };
  const hold = holdOn(state, referralId);
  if (hold !== undefined) return { heldBy: hold };
  return {
    events: [{ type: 'ReferralFlagged', at: now, referralId, fraudSignals: { ...signal('rate') } }],
  };
}
