import type {
  AccountState,
  FormerReferral,
  FormerReferrals,
  OpenAccount,
  ReferralState,
} from '../account-shapes.js';
import type { AccountEvent, Party } from '../account.events.js';

/** Keeps the part of a referral that outlasts a deletion of the account. */
export function withFormer(
  former: FormerReferrals,
  { referral, holds }: OpenAccount,
): FormerReferrals {
  if (referral === null) return former;
  const kept: FormerReferral = {
    ...referral,
    referred: nameless(referral.referred),
    referrer: nameless(referral.referrer),
    heldBy: holds.get(referral.referralId) ?? null,
  };
  return former.set(referral.referralId, kept);
}

const nameless = ({ account, person, ids }: Party): Party => ({
  account,
  person,
  ids: { subject: ids.subject, value: null },
});

/** The current or a former referral, by id. */
export function referralOf(state: AccountState, referralId: string): ReferralState | undefined {
  if (state.status === 'open' && state.referral?.referralId === referralId) return state.referral;
  return state.remains.formerReferrals.get(referralId);
}

/** The moderation that holds this referral here. */
export function holdOn(state: AccountState, referralId: string): string | undefined {
  const hold = state.status === 'open' ? state.holds.get(referralId) : undefined;
  return hold ?? state.remains.formerReferrals.get(referralId)?.heldBy ?? undefined;
}

/** Applies an event to former referrals, also without an account. */
export function evolveFormer(former: FormerReferrals, event: AccountEvent): FormerReferrals {
  if (event.type === 'ModerationPrepared')
    return event.referralIds.reduce(
      (all, id) => change(all, id, (one) => ({ ...one, heldBy: event.moderationId })),
      former,
    );
  if (event.type === 'ModerationReleased')
    return former.map((one) =>
      one.heldBy === event.moderationId ? { ...one, heldBy: null } : one,
    );
  if (event.type === 'ReferralFlagged')
    return change(former, event.referralId, (one) => ({
      ...one,
      fraudSignals: { ...one.fraudSignals, ...event.fraudSignals },
    }));
  if (event.type !== 'ReferralModerated') return former;
  return change(former, event.referralId, (one) => ({
    ...one,
    referredStatus: event.referredStatus,
    referrerStatus: event.referrerStatus,
    dateModerated: event.at,
    heldBy: one.heldBy === event.moderationId ? null : one.heldBy,
  }));
}

function change(
  former: FormerReferrals,
  referralId: string,
  to: (one: FormerReferral) => FormerReferral,
): FormerReferrals {
  const one = former.get(referralId);
  return one ? former.set(referralId, to(one)) : former;
}
