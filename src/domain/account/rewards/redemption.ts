import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import { refused } from '../../refusal.js';
import type { AccountEvent, Adjustment, PersonId } from '../account.events.js';
import {
  amountLeft,
  presentReward,
  rewardRef,
  unitKey,
  type AccountState,
  type OpenAccount,
  type RewardState,
} from '../account.state.js';
import { EVENT_EACH_MAX, nextListEvent, ownersOf } from './bulk-redemption.js';
import { Draft } from '../draft.js';
import { heldBy } from '../moderation/holds.js';
import {
  differentUnit,
  notAnAmount,
  notAvailable,
  notCredit,
  SPENT,
  tooLittleAvailable,
  tooLittleLeft,
} from '../refusal-details.js';
import { isBeingPushed } from './reward-state.js';
import { settle } from './rewards.js';
import { availableOf, selectCredits } from './spendable.js';

/** Amounts are integers in the reward's unit; units are compared without case. */

export type RedeemCredit = Command<
  'RedeemCredit',
  { rewardId: string; redemptionId: string; amount: number; unit: string }
>;

export function redeemCredit(state: AccountState, command: RedeemCredit): Decision<AccountEvent> {
  const known = state.status === 'open' ? presentReward(state, command.rewardId) : undefined;
  if (state.status === 'absent' || !known) return refused('REWARD_NOT_FOUND');
  const { amount, unit, redemptionId, now } = command;
  if (!isAmount(amount))
    return refused('REDEMPTION_NOT_POSSIBLE', notAnAmount(amount, 'above zero'));
  if (known.value.type !== 'CREDIT') return refused('REDEMPTION_NOT_POSSIBLE', notCredit(known));
  if (unitKey(known.value.unit) !== unitKey(unit))
    return refused('REDEMPTION_NOT_POSSIBLE', differentUnit(unit, known.value.unit));
  const hold = heldBy(state, known);
  if (hold !== undefined) return { heldBy: hold };
  const draft = new Draft(state);
  const reward = settle(draft, known.rewardId, now) ?? known;
  const left = amountLeft(reward);
  if (left === 0 && reward.redeemed > 0) return refused('REDEMPTION_NOT_POSSIBLE', SPENT);
  if (!isAvailable(reward)) return refused('REDEMPTION_NOT_POSSIBLE', notAvailable(reward));
  if (isBeingPushed(reward))
    return refused(
      'REDEMPTION_NOT_POSSIBLE',
      'The payment provider is paying the reward: redeem another one',
    );
  if (amount > left) return refused('REDEMPTION_NOT_POSSIBLE', tooLittleLeft(left));
  draft.emit({ type: 'CreditRedeemed', at: now, ...rewardRef(reward), redemptionId, amount });
  return draft.decision();
}

/**
 * Soonest expiry first, all or nothing. Each reward gets its own redemption, with the id
 * `<redemptionId>-<index>`.
 */
export type RedeemAccountCredit = Command<
  'RedeemAccountCredit',
  { amount: number; unit: string; redemptionId: string }
>;

export function redeemAccountCredit(
  state: AccountState,
  command: RedeemAccountCredit,
): Decision<AccountEvent> {
  if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  return debit(state, command);
}

/** Without a person: the whole account's credit. */
export interface Debit extends Pick<
  RedeemAccountCredit,
  'amount' | 'unit' | 'redemptionId' | 'now'
> {
  readonly person?: PersonId;
  readonly adjustment?: Adjustment;
}

/** Soonest expiry first, all or nothing. */
export function debit(
  state: OpenAccount,
  { amount, unit, redemptionId, now, person, adjustment }: Debit,
): Decision<AccountEvent> {
  if (!isAmount(amount))
    return refused('REDEMPTION_NOT_POSSIBLE', notAnAmount(amount, 'above zero'));
  const hold = holdOnCredit(state, unit, person);
  if (hold !== undefined) return { heldBy: hold };
  const onlyOf = person ?? null;
  const asked = { unit, now, person: onlyOf };
  const available = availableOf(state.spendable, asked);
  if (available < amount)
    return refused('REDEMPTION_NOT_POSSIBLE', tooLittleAvailable(amount, available, unit));
  const draft = new Draft(state);
  const corrected = adjustment === undefined ? {} : { adjustment };
  const all = selectCredits(state.spendable, { ...asked, amount });
  if (all.length > EVENT_EACH_MAX) {
    const spelled = unitOfReward(state, all[0]?.rewardId) ?? unit;
    const owners = ownersOf(state, all);
    const redeemed = { redemptionId, unit: spelled, amount, onlyOf, rewards: all.length, owners };
    draft.emit({ type: 'AccountCreditRedeemed', at: now, ...redeemed, ...corrected });
    const unlisted = draft.state.remains.unlisted.get(redemptionId);
    // Redemptions are listed one at a time, in order: this one starts only when no earlier one is
    // unlisted.
    if (unlisted && state.remains.unlisted.size === 0) draft.emit(nextListEvent(unlisted));
    return draft.decision();
  }
  // Settles only the taken credit: there may be very much other due credit.
  for (const [step, taken] of all.entries()) {
    const reward = settle(draft, taken.rewardId, now);
    if (!reward) continue;
    const redeemed = {
      ...rewardRef(reward),
      redemptionId: `${redemptionId}-${step}`,
      amount: taken.amount,
    };
    draft.emit({ type: 'CreditRedeemed', at: now, ...redeemed, ...corrected });
  }
  return draft.decision();
}

function unitOfReward({ rewards }: OpenAccount, rewardId: string | undefined): string | undefined {
  const value = rewardId === undefined ? undefined : rewards.get(rewardId)?.value;
  return value?.type === 'CREDIT' ? value.unit : undefined;
}

/**
 * Credit that an earlier moderation cancelled is also held, because the running moderation may
 * restore it.
 */
function holdOnCredit(
  state: OpenAccount,
  unit: string,
  person: PersonId | undefined,
): string | undefined {
  for (const [referralId, hold] of state.holds) {
    for (const rewardId of state.rewardsByReferral.get(referralId) ?? []) {
      const reward = state.rewards.get(rewardId);
      if (reward && isRestorableCredit(state, reward, unit, person)) return hold;
    }
  }
  return undefined;
}

function isRestorableCredit(
  { remains }: OpenAccount,
  reward: RewardState,
  unit: string,
  person: PersonId | undefined,
): boolean {
  const isOfUnit =
    reward.value.type === 'CREDIT' &&
    unitKey(reward.value.unit) === unitKey(unit) &&
    amountLeft(reward) > 0;
  const isOfPerson = person === undefined || reward.person === person;
  return (
    isOfUnit &&
    isOfPerson &&
    reward.cancelledBy !== 'REQUEST' &&
    !remains.forgotten.has(reward.person)
  );
}

/** The available credit of an account in a unit. */
export const availableCredit = (state: OpenAccount, unit: string, now: number): number =>
  availableOf(state.spendable, { unit, now, person: null });

const isAmount = (amount: number): boolean => Number.isSafeInteger(amount) && amount > 0;

const isAvailable = (reward: RewardState): boolean =>
  reward.phase === 'AVAILABLE' && reward.dateCancelled === null;
