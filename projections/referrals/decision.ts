import type { AccountEventOf } from '../../src/domain/account/account.events.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import type { DecidedSides, ReferralDecisionRow, ReferralRow } from './table.js';

/** @param before the moderation. */
export function decided(
  { event, tenant, mode, accountRef, actor }: LedgerEvent<AccountEventOf<'ReferralModerated'>>,
  before: Pick<ReferralRow, 'referred_status' | 'referrer_status'>,
): ReferralDecisionRow {
  const { at, referralId, referredStatus, referrerStatus, reason } = event;
  return {
    referral_id: referralId,
    tenant,
    mode,
    referred_account_ref: accountRef,
    at,
    actor_kind: actor.kind,
    staff: actor.name?.subject ?? null,
    sides: sidesOf(
      before.referred_status !== referredStatus,
      before.referrer_status !== referrerStatus,
    ),
    reason: reason?.value ?? null,
  };
}

function sidesOf(isReferred: boolean, isReferrer: boolean): DecidedSides {
  if (isReferred) return isReferrer ? 'both' : 'referred';
  return isReferrer ? 'referrer' : 'none';
}
