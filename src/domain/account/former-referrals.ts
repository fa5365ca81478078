import type { Map } from 'immutable';
import type { AccountEvent, Party } from './account.events.js';
import type { AccountState, OpenAccount, ReferralState } from './account.state.js';

/**
 * Referrals of an account in the lives that it had before: the account was deleted, perhaps opened anew and referred again. Their referrers'
 * rewards stand, so they can be moderated. One per life, without a name.
 */
export interface FormerReferral extends ReferralState {
  /** The moderation that holds it; null: none. */
  readonly heldBy: string | null;
}

export type FormerReferrals = Map<string, FormerReferral>;

/** What is kept of the referral of an account that is deleted now. */
export function withFormer(former: FormerReferrals, { referral, holds }: OpenAccount): FormerReferrals {
  if (referral === null) return former;
  const kept: FormerReferral = {
    ...referral,
    referred: nameless(referral.referred),
    referrer: nameless(referral.referrer),
    heldBy: holds.get(referral.referralId) ?? null,
  };
  return former.set(referral.referralId, kept);
}

const nameless = ({ account, person, ids }: Party): Party => ({ account, person, ids: { subject: ids.subject, value: null } });

/** The referral of this id that the account has or had, as the referred party. */
export function referralOf(state: AccountState, referralId: string): ReferralState | undefined {
  if (state.status === 'open' && state.referral?.referralId === referralId) return state.referral;
  return state.remains.formerReferrals.get(referralId);
}

/** The moderation that holds this referral here, if any. */
export function holdOn(state: AccountState, referralId: string): string | undefined {
  const hold = state.status === 'open' ? state.holds.get(referralId) : undefined;
  return hold ?? state.remains.formerReferrals.get(referralId)?.heldBy ?? undefined;
}

/** What an event does to former referrals, whether or not the account is there. */
export function evolveFormer(former: FormerReferrals, event: AccountEvent): FormerReferrals {
  switch (event.type) {
    case 'ModerationPrepared':
      return event.referralIds.reduce((all, id) => change(all, id, (one) => ({ ...one, heldBy: event.moderationId })), former);
    case 'ModerationReleased':
      return former.map((one) => (one.heldBy === event.moderationId ? { ...one, heldBy: null } : one));
    case 'ReferralModerated':
      return change(former, event.referralId, (one) => ({
        ...one,
        referredStatus: event.referredStatus,
        referrerStatus: event.referrerStatus,
        dateModerated: event.at,
        heldBy: one.heldBy === event.moderationId ? null : one.heldBy,
      }));
    case 'ReferralFlagged':
      return change(former, event.referralId, (one) => ({ ...one, fraudSignals: { ...one.fraudSignals, ...event.fraudSignals } }));
    default:
      return former;
  }
}

function change(former: FormerReferrals, referralId: string, to: (one: FormerReferral) => FormerReferral): FormerReferrals {
  const one = former.get(referralId);
  return one ? former.set(referralId, to(one)) : former;
}
