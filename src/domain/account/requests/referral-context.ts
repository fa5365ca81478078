import { codesKey, type InNeed } from '../../need.js';
import { programOf } from '../../tenant/program-document.js';
import type { Party } from '../account.events.js';
import type { AccountState, ReferralState } from '../account.state.js';
import type { CodeOwner, Referrer } from '../referral/referral-parties.js';
import type { ReferralContext } from '../referral/referral.js';
import type { Circumstances } from './circumstances.js';
import { ownMember } from '../../own-member.js';

/** By the owner of a code in the request, or the recorded referrer. */
export function referralContext(
  state: AccountState,
  codes: readonly string[],
  given: Circumstances,
): ReferralContext | InNeed {
  const attribution = state.status === 'open' ? state.attribution : null;
  const isSettled = state.status === 'open' && (state.referral?.datePaid ?? null) !== null;
  if (isSettled) return contextOf(given, { programId: attribution?.programId });
  if (!attribution) return contextOfCodes(codes, given);
  const { referrer: party, programId } = attribution;
  return contextOfParty(party, programId, given);
}

/** Of the first code that has an owner. */
export function contextOfCodes(
  codes: readonly string[],
  given: Circumstances,
): ReferralContext | InNeed {
  if (codes.length === 0) return contextOf(given, {});
  const found = ownMember(given.provided.codeOwners, codesKey(codes));
  if (found === undefined) return { needs: [{ kind: 'code-owner', codes }] };
  const { owner: codeOwner, referrer } = found;
  return contextOf(given, { codeOwner, referrer, programId: codeOwner?.programId });
}

/** Of the account's referral. @param needsReferrer whether the decision depends on the referrer. */
export function contextOfReferral(
  referral: ReferralState | null,
  needsReferrer: boolean,
  given: Circumstances,
): ReferralContext | InNeed {
  if (!referral || !needsReferrer) return contextOf(given, { programId: referral?.programId });
  return contextOfParty(referral.referrer, referral.programId, given);
}

function contextOfParty(
  party: Party,
  programId: string,
  given: Circumstances,
): ReferralContext | InNeed {
  const referrer = ownMember(given.provided.referrers, party.person);
  if (referrer === undefined) return { needs: [{ kind: 'referrer', party }] };
  return contextOf(given, { referrer, programId });
}

interface Found {
  readonly codeOwner?: CodeOwner | null;
  readonly referrer?: Referrer | null;
  readonly programId?: string | undefined;
}

function contextOf(
  { now, account, tenant, provided, commandId, ids }: Circumstances,
  { codeOwner = null, referrer = null, programId }: Found,
): ReferralContext {
  return {
    now,
    account,
    referrer,
    codeOwner,
    program: programId === undefined ? null : programOf(tenant, programId),
    provided,
    referralId: ids.within(`${commandId}/referral`),
    rewardIds: {
      started: ids.within(`${commandId}/started`),
      converted: ids.within(`${commandId}/converted`),
    },
  };
}
