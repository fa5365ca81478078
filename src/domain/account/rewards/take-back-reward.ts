import { REFERRER_RULE } from '../../program.js';
import type { Command } from '../../fact.js';
import type { Decision } from '../../decision.js';
import type { AccountEvent, PersonId } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import { Draft } from '../draft.js';
import { cancelOrKeep, withhold } from './rewards.js';
import { withheldKey } from './rule-counts.js';

/** After a refund. Sent by a policy, at least once, perhaps before the grant. */
export type TakeBackReward = Command<
  'TakeBackReward',
  {
    referralId: string;
    /** Derived from event and rule, or from the referral. */
    rewardId: string;
    person: PersonId;
    programId: string;
    programVersion: number;
    /** Of the event reward, or `REFERRER_RULE` for the conversion. */
    rule: string;
  }
>;

export function takeBackReward(
  state: AccountState,
  { referralId, rewardId, person, programId, programVersion, rule, now }: TakeBackReward,
): Decision<AccountEvent> {
  if (state.status === 'absent' || !state.users.has(person)) return { events: [] };
  const draft = new Draft(state);
  draft.dependOn(referralId);
  const due = {
    rewardId,
    referralId: rule === REFERRER_RULE ? referralId : null,
    person,
    programId,
    programVersion,
    rule,
  };
  if (state.rewards.has(rewardId)) cancelOrKeep(draft, rewardId, now);
  else if (!state.withheld.has(withheldKey(due))) withhold(draft, due, 'EVENT_REFUNDED', now);
  return draft.decision();
}
