import { refused, type Decision } from '../refusal.js';
import type { AccountEvent, Adjustment, PersonId } from './account.events.js';
import { amountLeft, presentReward, rewardRef, unitKey, type AccountState, type OpenAccount, type RewardState } from './account.state.js';
import { Draft } from './draft.js';
import { heldBy } from './holds.js';
import { isRedeemedAutomatically, settle } from './rewards.js';

/** Spending credit. Amounts are integers in the reward's unit; units compare without case. */

export interface RedeemCredit {
  readonly type: 'RedeemCredit';
  readonly rewardId: string;
  readonly redemptionId: string;
  readonly amount: number;
  readonly unit: string;
  readonly now: number;
}

export function redeemCredit(state: AccountState, command: RedeemCredit): Decision<AccountEvent> {
  const known = state.status === 'open' ? presentReward(state, command.rewardId) : undefined;
  if (state.status === 'absent' || !known) return refused('REWARD_NOT_FOUND');
  const { amount, unit, redemptionId, now } = command;
  if (!isAmount(amount)) return refused('REDEMPTION_NOT_POSSIBLE', 'amount must be a whole number above zero');
  if (known.value.type !== 'CREDIT') return refused('REDEMPTION_NOT_POSSIBLE', 'only credit can be redeemed');
  if (unitKey(known.value.unit) !== unitKey(unit)) return refused('REDEMPTION_NOT_POSSIBLE', 'the reward is of another unit');
  const hold = heldBy(state, known);
  if (hold !== undefined) return { heldBy: hold };
  const draft = new Draft(state);
  const reward = settle(draft, known.rewardId, now) ?? known;
  if (!isAvailable(reward)) return refused('REDEMPTION_NOT_POSSIBLE', 'the reward is not available');
  if (amount > amountLeft(reward)) return refused('REDEMPTION_NOT_POSSIBLE', 'amount is more than what is left');
  draft.emit({ type: 'CreditRedeemed', at: now, ...rewardRef(reward), redemptionId, amount });
  return draft.decision();
}

/** Debits the account, soonest expiry first, all or nothing. `redemptionIds` yields one id per reward that is touched. */
export interface RedeemAccountCredit {
  readonly type: 'RedeemAccountCredit';
  readonly amount: number;
  readonly unit: string;
  /** The id of the n-th redemption, counted from 0. */
  readonly redemptionId: string;
  readonly now: number;
}

export function redeemAccountCredit(state: AccountState, command: RedeemAccountCredit): Decision<AccountEvent> {
  if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  return debit(state, command);
}

/** What is debited, and whose; without a person: the whole account's. */
export interface Debit extends Pick<RedeemAccountCredit, 'amount' | 'unit' | 'redemptionId' | 'now'> {
  readonly person?: PersonId;
  readonly adjustment?: Adjustment;
}

/** Soonest expiry first, all or nothing. */
export function debit(state: OpenAccount, { amount, unit, redemptionId, now, person, adjustment }: Debit): Decision<AccountEvent> {
  if (!isAmount(amount)) return refused('REDEMPTION_NOT_POSSIBLE', 'amount must be a whole number above zero');
  // What a moderation cancelled counts among what is held: the one under way may bring it back.
  const ofUnit = creditOf(state, unit).filter(
    (reward) => amountLeft(reward) > 0 && reward.cancelledBy !== 'REQUEST' && (person === undefined || reward.person === person),
  );
  const hold = ofUnit.map((reward) => heldBy(state, reward)).find((held) => held !== undefined);
  if (hold !== undefined) return { heldBy: hold };
  const draft = new Draft(state);
  const settled = ofUnit.map((reward) => settle(draft, reward.rewardId, now) ?? reward);
  const spendable = settled.filter((reward) => isAvailable(reward) && amountLeft(reward) > 0);
  let open = amount;
  for (const [step, reward] of spendable.sort(bySoonestExpiry).entries()) {
    const taken = Math.min(open, amountLeft(reward));
    if (taken === 0) break;
    draft.emit({
      ...{ type: 'CreditRedeemed', at: now, ...rewardRef(reward), redemptionId: `${redemptionId}-${step}`, amount: taken },
      ...(adjustment === undefined ? {} : { adjustment }),
    });
    open -= taken;
  }
  return open === 0 ? draft.decision() : refused('REDEMPTION_NOT_POSSIBLE', 'amount is more than what is available');
}

/** What an account may spend of a unit at this time. */
export function availableCredit(state: OpenAccount, unit: string, now: number): number {
  return creditOf(state, unit)
    .filter((reward) => isAvailableAt(reward, now))
    .reduce((sum, reward) => sum + amountLeft(reward), 0);
}

const isAmount = (amount: number): boolean => Number.isSafeInteger(amount) && amount > 0;

const isAvailable = (reward: RewardState): boolean => reward.phase === 'AVAILABLE' && reward.dateCancelled === null;

/** By the clock, whether or not the ledger has recorded it yet. */
export const isAvailableAt = (reward: RewardState, now: number): boolean =>
  reward.dateCancelled === null &&
  !isRedeemedAutomatically(reward, now) &&
  reward.phase !== 'EXPIRED' &&
  (reward.phase === 'AVAILABLE' || (reward.dateScheduledFor ?? 0) <= now) &&
  (reward.dateExpires === null || reward.dateExpires > now);

function creditOf(state: OpenAccount, unit: string): RewardState[] {
  const wanted = unitKey(unit);
  return [...state.rewards.values()].filter(
    ({ value, person }) => value.type === 'CREDIT' && unitKey(value.unit) === wanted && !state.remains.forgotten.has(person),
  );
}

function bySoonestExpiry(a: RewardState, b: RewardState): number {
  return (
    (a.dateExpires ?? Infinity) - (b.dateExpires ?? Infinity) ||
    a.dateGiven - b.dateGiven ||
    (a.rewardId < b.rewardId ? -1 : a.rewardId > b.rewardId ? 1 : 0)
  );
}
