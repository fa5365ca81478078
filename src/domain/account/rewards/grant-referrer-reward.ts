import type { Provided } from '../../need.js';
import { REFERRER_RULE, type RewardTerms } from '../../program.js';
import type { Decision } from '../../decision.js';
import type { AccountEvent, PersonId } from '../account.events.js';
import { type AccountState } from '../account.state.js';
import { Draft } from '../draft.js';
import { grantDueReward } from './rewards.js';

/** Rewards the referrer for a referral. Sent by a policy, at least once. */
export interface GrantReferrerReward {
  readonly type: 'GrantReferrerReward';
  readonly referralId: string;
  /** Derived from the referral: a repetition finds it granted. */
  readonly rewardId: string;
  readonly person: PersonId;
  readonly terms: RewardTerms;
  readonly programId: string;
  readonly programVersion: number;
  /** Delay and validity count from here. */
  readonly earnedAt: number;
  readonly provided: Provided;
}

export function grantReferrerReward(
  state: AccountState,
  command: GrantReferrerReward,
): Decision<AccountEvent> {
  const { referralId, rewardId, person, terms, programId, programVersion, earnedAt } = command;
  if (state.status === 'absent' || !state.users.get(person)?.profile || state.rewards.has(rewardId))
    return { events: [] };
  const hold = state.holds.get(referralId);
  if (hold !== undefined) return { heldBy: hold };
  // A denied side: a later approval sends this command again.
  const side = state.referrerSides.get(referralId);
  if (side !== undefined && side !== 'APPROVED') return { events: [] };
  const draft = new Draft(state, command.provided);
  const source = 'FRIEND_SIGNUP';
  grantDueReward(
    draft,
    terms,
    { rewardId, person, source, referralId, programId, programVersion, rule: REFERRER_RULE },
    earnedAt,
  );
  return draft.decision();
}
