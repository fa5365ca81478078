import { personal, type Personal } from '../personal.js';
import type { Decision } from '../decision.js';
import { refused } from '../refusal.js';
import type { AccountEvent, Adjustment } from './account.events.js';
import type { AccountState } from './account.state.js';
import { Draft } from './draft.js';
import { debit } from './redemption.js';
import { fitsUnderAmountMax, give } from './rewards.js';

/**
 * An operator's correction. Nothing that stands in the ledger is changed: credit is added as a
 * reward by hand, or taken from what the user may spend as a redemption, and the event says why and
 * who answers for it.
 */
export interface AdjustCredit {
  readonly type: 'AdjustCredit';
  readonly userId: string;
  readonly unit: string;
  /** Above zero adds, below zero takes away. */
  readonly amount: number;
  readonly reason: string;
  readonly approvedBy: Personal<string>;
  readonly by: Personal<string>;
  /** Of the reward, should it become one. */
  readonly rewardId: string;
  /** Of the redemptions, should it become some; see RedeemAccountCredit. */
  readonly redemptionId: string;
  readonly now: number;
}

export function adjustCredit(state: AccountState, command: AdjustCredit): Decision<AccountEvent> {
  if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  const person = state.personsByUserId.get(command.userId);
  if (person === undefined) return refused('USER_NOT_FOUND');
  const { unit, amount, reason, approvedBy, by, rewardId, redemptionId, now } = command;
  if (state.rewards.has(rewardId)) return refused('REWARD_EXISTS');
  if (!Number.isSafeInteger(amount) || amount === 0)
    return refused('REDEMPTION_NOT_POSSIBLE', 'amount must be a whole number other than zero');
  const adjustment: Adjustment = { reason: personal(person, reason), approvedBy, by };
  if (amount < 0)
    return debit(state, { amount: -amount, unit, redemptionId, now, person, adjustment });
  const value = { type: 'CREDIT' as const, unit, assignedCredit: amount, currency: null };
  if (!fitsUnderAmountMax(state, value)) return refused('AMOUNT_TOO_LARGE');
  const draft = new Draft(state);
  const reward = {
    rewardId,
    person,
    value,
    name: null,
    description: null,
    cancellable: true,
    dateScheduledFor: null,
    dateExpires: null,
    source: 'MANUAL' as const,
    referralId: null,
    programId: null,
    programVersion: null,
    rule: null,
    // A correction is of the balance: what the program redeems by itself would leave none.
    redeemsAutomatically: false,
    adjustment,
  };
  give(draft, reward, now);
  return draft.decision();
}
