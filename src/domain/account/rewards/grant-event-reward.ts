import type { Provided } from '../../need.js';
import type { GrantTerms } from '../../program.js';
import type { Decision } from '../../decision.js';
import type { AccountEvent, PersonId } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import { Draft } from '../draft.js';
import { grantDueReward, withhold } from './rewards.js';
import { withheldKey } from './rule-counts.js';

/** Rewards a user for an event of a referred person. Sent by a policy, at least once. */
export interface GrantEventReward {
  readonly type: 'GrantEventReward';
  readonly referralId: string;
  /** Derived from event and rule: a repetition finds it granted. */
  readonly rewardId: string;
  readonly person: PersonId;
  readonly terms: GrantTerms;
  readonly programId: string;
  readonly programVersion: number;
  readonly rule: string;
  readonly earnedAt: number;
  readonly provided: Provided;
}

export function grantEventReward(
  state: AccountState,
  command: GrantEventReward,
): Decision<AccountEvent> {
  const { referralId, rewardId, person, terms, programId, programVersion, rule, earnedAt } =
    command;
  if (state.status === 'absent' || state.rewards.has(rewardId)) return { events: [] };
  const user = state.users.get(person);
  if (!user && !state.remains.forgotten.has(person)) return { events: [] };
  const hold = state.holds.get(referralId);
  if (hold !== undefined) return { heldBy: hold };
  const due = {
    rewardId,
    person,
    source: 'EVENT' as const,
    referralId: null,
    programId,
    programVersion,
    rule,
  };
  if (state.withheld.has(withheldKey(due))) return { events: [] };
  const draft = new Draft(state, command.provided);
  // An obstacle since the event is final: the reward is lost, not postponed.
  const side = state.referrerSides.get(referralId) ?? 'APPROVED';
  if (!user?.profile) withhold(draft, due, 'REFERRER_GONE', earnedAt);
  else if (user.dateBlocked !== null) withhold(draft, due, 'REFERRER_BLOCKED', earnedAt);
  else if (side !== 'APPROVED') withhold(draft, due, 'SIDE_NOT_APPROVED', earnedAt);
  else grantDueReward(draft, terms, due, earnedAt);
  return draft.decision();
}
