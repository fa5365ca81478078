import type { Decision } from '../refusal.js';
import type { AccountEvent } from './account.events.js';
import type { AccountState } from './account.state.js';
import { Draft } from './draft.js';
import { signal } from './fraud-signals.js';

/**
 * Later referrals of the same referrer made this one part of too many. Sent by a policy, at least once, and perhaps while the referral
 * is only about to start: it finds the signal then.
 */
export interface FlagReferral {
  readonly type: 'FlagReferral';
  readonly referralId: string;
  readonly now: number;
}

export function flagReferral(state: AccountState, { referralId, now }: FlagReferral): Decision<AccountEvent> {
  if (state.status === 'absent') return { events: [] };
  const signals = state.referral?.referralId === referralId ? state.referral.fraudSignals : (state.flagged.get(referralId) ?? {});
  if (Object.hasOwn(signals, 'rate')) return { events: [] };
  const draft = new Draft(state);
  draft.emit({ type: 'ReferralFlagged', at: now, referralId, fraudSignals: { ...signal('rate') } });
  return draft.decision();
}
