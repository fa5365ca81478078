import { personal, type Personal } from '../../personal.js';
import type { Decision } from '../../decision.js';
import { refused } from '../../refusal.js';
import type { AccountEvent, Adjustment, PersonId } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import { Draft } from '../draft.js';
import { debit } from './redemption.js';
import { expiredBy, notAnAmount, sumTooLarge } from '../refusal-details.js';
import { AMOUNT_MAX, fitsUnderAmountMax, grantNewReward, MANUAL } from './rewards.js';

export interface GrantedTerms {
  readonly name: string | null;
  readonly dateExpires: number | null;
}

/** Adds credit as a manual reward, or takes it as a redemption. */
export interface AdjustCredit {
  readonly type: 'AdjustCredit';
  readonly userId: string;
  /** Refused for another person: an erased user's id may be taken again. */
  readonly person?: PersonId | undefined;
  readonly unit: string;
  /** Positive adds, negative takes. */
  readonly amount: number;
  readonly reason: string;
  /** Of credit that support grants; undefined: no name and no expiry. */
  readonly grant?: GrantedTerms | undefined;
  readonly approvedBy: Personal<string>;
  readonly by: Personal<string>;
  /** Id of the reward that adds credit. */
  readonly rewardId: string;
  /** Id of the redemption that takes credit; see RedeemAccountCredit. */
  readonly redemptionId: string;
  readonly now: number;
}

export function adjustCredit(state: AccountState, command: AdjustCredit): Decision<AccountEvent> {
  if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  const person = state.personsByUserId.get(command.userId);
  if (person === undefined || person !== (command.person ?? person))
    return refused('USER_NOT_FOUND');
  const { unit, amount, reason, approvedBy, by, rewardId, redemptionId, now } = command;
  const { name = null, dateExpires = null } = command.grant ?? {};
  if (state.rewards.has(rewardId)) return refused('REWARD_EXISTS');
  if (!Number.isSafeInteger(amount) || amount === 0)
    return refused('REDEMPTION_NOT_POSSIBLE', notAnAmount(amount, 'other than zero'));
  const adjustment: Adjustment = { reason: personal(person, reason), approvedBy, by };
  if (amount < 0)
    return debit(state, { amount: -amount, unit, redemptionId, now, person, adjustment });
  const value = { type: 'CREDIT' as const, unit, assignedCredit: amount, currency: null };
  if (!fitsUnderAmountMax(state, value))
    return refused('AMOUNT_TOO_LARGE', sumTooLarge(unit, AMOUNT_MAX));
  if (dateExpires !== null && dateExpires <= now)
    return refused('REWARD_DATES_INVALID', expiredBy(now));
  const draft = new Draft(state);
  const reward = {
    rewardId,
    person,
    value,
    name,
    description: null,
    cancellable: true,
    dateScheduledFor: null,
    dateExpires,
    ...MANUAL,
    // A correction changes the balance: automatic redemption would undo it.
    redeemsAutomatically: false,
    adjustment,
  };
  grantNewReward(draft, reward, now);
  return draft.decision();
}
