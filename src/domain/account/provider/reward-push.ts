import type { PaidInvoice } from '../../customer/customer.state.js';
import type { Decision } from '../../decision.js';
import { personal, type Personal, type SubjectId } from '../../personal.js';
import type { RewardValue } from '../../program.js';
import type { AccountEvent, AccountEventOf, ProviderCall } from '../account.events.js';
import {
  amountLeft,
  rewardRef,
  type AccountState,
  type OpenAccount,
  type PushOfTheDeleted,
  type RewardState,
} from '../account.state.js';
import { Draft } from '../draft.js';
import { isTakenBack, takeBack } from '../referral/refunds.js';
import { isBeingPushed } from '../rewards/reward-state.js';
import { settle } from '../rewards/rewards.js';

/**
 * Pays a reward by the payment provider: the calls are recorded, then made, then their outcome is
 * recorded. Sent by the worker that makes the calls.
 */
export interface StartRewardPush {
  readonly type: 'StartRewardPush';
  readonly rewardId: string;
  /** The number of the start that this one replaces; 0: it is the first. */
  readonly replaces: number;
  /** The customer's subscriptions that are not over; null: they are not known yet. */
  readonly subscriptions: readonly ProviderSubscription[] | null;
  /** Subscriptions that have the discount. */
  readonly done: readonly string[];
  /** The provider's id of a discount of theirs, or of what paid all of it. */
  readonly reference?: string | undefined;
  /** The provider has paid all of it, by a call that the log has lost. */
  readonly isPaid?: true;
  /** The customer's first paid invoice; null: none. */
  readonly firstPaid: PaidInvoice | null;
  readonly now: number;
}

/** A subscription with the ids of its discounts. */
export interface ProviderSubscription {
  readonly id: string;
  readonly discounts: readonly string[];
  /** Where it may name another reward; undefined: it has no room. */
  readonly slot?: number;
}

/** No events: there is nothing to pay, or a subscription is waited for. */
export function startRewardPush(
  state: AccountState,
  command: StartRewardPush,
): Decision<AccountEvent> {
  const { rewardId, replaces, now } = command;
  const known = state.status === 'open' ? state.rewards.get(rewardId) : undefined;
  if (state.status === 'absent' || !known) return { events: [] };
  if ((known.pushed?.push ?? 0) !== replaces) return { events: [] };
  if (isTakenBack(state, known) && !hasDone(command)) return giveUp(state, known, now);
  if (isOfForgotten(state, known)) return endOfForgotten(state, known, command);
  if (!mayBePushed(state, known)) return { events: [] };
  const draft = new Draft(state);
  const reward = settle(draft, rewardId, now) ?? known;
  if (reward.phase !== 'AVAILABLE' || reward.dateCancelled !== null) return draft.decision();
  const done = [...new Set([...(reward.pushed?.done ?? []), ...command.done])];
  const calls = command.isPaid ? [] : callsFor(state, reward, { ...command, done });
  if (calls === undefined) return draft.decision();
  const ref = { at: now, ...rewardRef(reward), push: replaces + 1 };
  const amount = amountLeft(reward);
  if (calls.length > 0)
    draft.emit({
      type: 'RewardPushStarted',
      ...ref,
      amount,
      body: personal(state.account, { calls, done }),
    });
  else {
    const value = command.reference ?? reward.pushed?.reference ?? null;
    const reference = { subject: state.account, value };
    draft.emit({ type: 'RewardPushed', ...ref, push: replaces, reference });
  }
  return draft.decision();
}

const hasDone = ({ done, isPaid }: StartRewardPush): boolean => done.length > 0 || isPaid === true;

/** Instead of another start: the one before has no effect, and its referral was refunded. */
function giveUp(state: OpenAccount, reward: RewardState, now: number): Decision<AccountEvent> {
  const draft = new Draft(state);
  if (isBeingPushed(reward))
    draft.emit({
      type: 'RewardPushRefused',
      at: now,
      ...rewardRef(reward),
      push: reward.pushed?.push ?? 0,
      reason: 'the first invoice was refunded',
      done: personal(state.account, []),
    });
  takeBack(draft, reward.rewardId, now);
  return draft.decision();
}

/** Whether its call is to be made no more once it is known that it had no effect. */
export const isGivenUp = (state: OpenAccount, reward: RewardState): boolean =>
  isTakenBack(state, reward) || isOfForgotten(state, reward);

const isOfForgotten = ({ remains }: OpenAccount, { person }: RewardState): boolean =>
  remains.forgotten.has(person);

/** Whether its owner and customer are there, and the provider does not have it. */
function mayBePushed(state: OpenAccount, reward: RewardState): boolean {
  const { payTo, pushed } = reward;
  const isOpen = payTo === 'provider' && pushed?.status !== 'PUSHED';
  return isOpen && state.paymentProviderId !== null && !isOfForgotten(state, reward);
}

/** Instead of another start: the owner was forgotten since, and what has its discount keeps it. */
function endOfForgotten(
  { account }: OpenAccount,
  reward: RewardState,
  { done, reference, replaces, now }: StartRewardPush,
): Decision<AccountEvent> {
  if (!isBeingPushed(reward)) return { events: [] };
  const ref = { at: now, ...rewardRef(reward), push: replaces };
  const isDone = done.length > 0 || (reward.pushed?.done.length ?? 0) > 0;
  const value = reference ?? reward.pushed?.reference ?? null;
  if (isDone)
    return { events: [{ type: 'RewardPushed', ...ref, reference: { subject: account, value } }] };
  const reason = 'its owner was deleted';
  return { events: [{ type: 'RewardPushRefused', ...ref, reason, done: personal(account, []) }] };
}

/**
 * Empty: nothing is left to pay. Undefined: a subscription is needed. A discount waits for the look
 * at subscriptions also where it becomes credit: one of them may have it.
 */
function callsFor(
  state: OpenAccount,
  reward: RewardState,
  { firstPaid, subscriptions, done, replaces }: StartRewardPush,
): readonly ProviderCall[] | undefined {
  const customer = state.paymentProviderId ?? '';
  const keyed = keyOf(reward.rewardId, replaces + 1);
  const { value } = reward;
  const balanceCredit = (amount: number, currency: string): readonly ProviderCall[] =>
    amount > 0 ? [{ kind: 'BALANCE_CREDIT', key: keyed(null), customer, amount, currency }] : [];
  if (value.type === 'CREDIT')
    return balanceCredit(amountLeft(reward), value.currency ?? state.currency);
  if (value.type !== 'PCT_DISCOUNT') return [];
  if (subscriptions === null) return undefined;
  // It never becomes two payments.
  if (firstPaid !== null && reward.source === 'REFERRED' && done.length === 0)
    return balanceCredit(partOf(firstPaid.amountPaid, value), firstPaid.currency);
  const open = subscriptions.filter(({ id }) => !done.includes(id));
  if (open.length === 0) return done.length > 0 ? [] : undefined;
  const { discountPercent: percent, monthsDiscountIsValid: months } = value;
  return open.map(({ id, discounts, slot }) => ({
    kind: 'DISCOUNT',
    key: keyed(id),
    subscription: id,
    percent,
    months,
    keeps: discounts,
    ...(slot === undefined ? {} : { slot }),
  }));
}

type Discount = Extract<RewardValue, { type: 'PCT_DISCOUNT' }>;

/** Rounded down, without a fraction on the way: products of two integers may exceed 2^53. */
const partOf = (amount: number, { discountPercent }: Discount): number =>
  Number((BigInt(amount) * BigInt(discountPercent)) / 100n);

const keyOf =
  (rewardId: string, push: number) =>
  (subscription: string | null): string =>
    [
      'reward',
      rewardId,
      ...(subscription === null ? [] : [subscription]),
      ...(push === 1 ? [] : [String(push)]),
    ].join(':');

/** What came of the calls. Sent at least once; what another start replaced changes nothing. */
export interface RecordRewardPush {
  readonly type: 'RecordRewardPush';
  readonly rewardId: string;
  /** Of the start that made the calls; 0: a call before any start was refused. */
  readonly push: number;
  readonly outcome: PushOutcome;
  readonly now: number;
}

export type PushOutcome =
  /** `reference`: the provider's id of what it made. */
  | { readonly kind: 'pushed'; readonly reference: string }
  | {
      readonly kind: 'refused';
      readonly reason: string;
      /** Subscriptions that have the discount. */
      readonly done: readonly string[];
      /** The provider's id of a discount of theirs. */
      readonly reference?: string | undefined;
      /** A call before may have taken effect: nobody else has the credit until that is known. */
      readonly mayBePaid?: true;
    };

export function recordRewardPush(
  state: AccountState,
  command: RecordRewardPush,
): Decision<AccountEvent> {
  const { rewardId, push, now } = command;
  const deleted = state.remains.pushing.get(rewardId);
  if (deleted !== undefined)
    return { events: deleted.push === push ? outcomeAfterDeletion(deleted, command) : [] };
  const reward = state.status === 'open' ? state.rewards.get(rewardId) : undefined;
  if (state.status === 'absent' || !reward || reward.payTo === undefined) return { events: [] };
  const { pushed } = reward;
  const isCurrent = (pushed?.push ?? 0) === push && pushed?.status !== 'PUSHED';
  if (!isCurrent || isKnown(reward, command)) return { events: [] };
  const draft = new Draft(state);
  // Another process was refused before: a refund took it back, and the provider has it.
  if (reward.dateCancelled !== null)
    draft.emit({
      type: 'RewardRestored',
      at: now,
      ...rewardRef(reward),
      amount: amountLeft(reward),
    });
  const amount = Math.min(amountLeft(reward), pushed?.amount ?? 0);
  const redeemed = { reward: rewardRef(reward), amount, at: dateOf(reward, now) };
  draft.emit(...outcomeEvents(command, state.account, redeemed));
  // Its expiry waited for the outcome, and so did a refund.
  if (command.outcome.kind === 'refused') takeBack(draft, rewardId, now);
  return draft.decision();
}

function isKnown({ pushed, dateCancelled }: RewardState, { outcome }: RecordRewardPush): boolean {
  if (outcome.kind !== 'refused') return false;
  const isSame =
    pushed?.reason === outcome.reason && pushed.mayBePaid === (outcome.mayBePaid === true);
  return dateCancelled !== null || (pushed?.status === 'PARKED' && isSame);
}

/** Of the redemption: a reward is not redeemed after it expired. */
function dateOf({ dateExpires, pushed }: RewardState, now: number): number {
  const isOver = dateExpires !== null && dateExpires <= now;
  return isOver && pushed !== undefined ? pushed.at : now;
}

interface Redeemed extends Pick<PushOfTheDeleted, 'reward' | 'amount'> {
  readonly at: number;
}

function outcomeEvents(
  { outcome, push, now }: RecordRewardPush,
  subject: SubjectId,
  { reward, amount, at }: Redeemed,
  opened: <T>(value: T) => Personal<T> = (value) => personal(subject, value),
): readonly AccountEvent[] {
  const ref = { at: now, ...reward, push };
  if (outcome.kind === 'refused') {
    const { reason, done, reference, mayBePaid } = outcome;
    const made = reference === undefined ? {} : { reference: opened(reference) };
    const unsure = mayBePaid === undefined ? {} : { mayBePaid };
    return [{ type: 'RewardPushRefused', ...ref, reason, done: opened(done), ...made, ...unsure }];
  }
  const reference = opened(outcome.reference);
  const redeemed: AccountEventOf<'CreditRedeemed'> = {
    type: 'CreditRedeemed',
    at,
    ...reward,
    redemptionId: providerRedemptionId(reward.rewardId),
    amount,
    externalReference: reference,
  };
  const pushed = { type: 'RewardPushed', ...ref, reference } as const;
  return amount > 0 ? [pushed, redeemed] : [pushed];
}

/** The key of its ids is destroyed: they are left out. */
function outcomeAfterDeletion(
  { reward, subject, amount, at }: PushOfTheDeleted,
  command: RecordRewardPush,
): readonly AccountEvent[] {
  const nothing = <T>(): Personal<T> => ({ subject, value: null });
  return outcomeEvents(command, subject, { reward, amount, at }, nothing);
}

/** The provider pays a reward once, so the id of the redemption is derived from the reward's. */
const providerRedemptionId = (rewardId: string): string => `${rewardId}-provider`;

/** What is to be done for an account. */
export interface DuePushes {
  /** Those under way first, then the oldest. */
  readonly rewards: readonly RewardState[];
  /** When the next one is due by its date; null: none is. */
  readonly nextAt: number | null;
}

/** @param retriesParked whether refused ones are tried again. */
export function duePushes(
  state: AccountState,
  { now, retriesParked }: { readonly now: number; readonly retriesParked: boolean },
): DuePushes {
  if (state.status === 'absent') return { rewards: [], nextAt: null };
  const open = [...state.toPush].flatMap((id) => state.rewards.get(id) ?? []);
  const coming = open.filter((reward) => isOpenAt(state, reward, now));
  const isStill = ({ pushed }: RewardState): boolean =>
    !retriesParked && pushed?.status === 'PARKED';
  // A subscription names the newest discount alone, and a call again replaces those behind it.
  const isDiscountUnsure = coming.some(
    (reward) => isDiscount(reward) && isStill(reward) && isBeingPushed(reward),
  );
  const isDue = (reward: RewardState): boolean =>
    (reward.phase === 'AVAILABLE' || (reward.dateScheduledFor ?? 0) <= now) &&
    !isStill(reward) &&
    !(isDiscountUnsure && isDiscount(reward));
  const dates = coming.flatMap(({ phase, dateScheduledFor: date }) =>
    phase === 'PENDING' && date !== null && date > now ? [date] : [],
  );
  return {
    rewards: coming
      .filter(isDue)
      .sort((a, b) => Number(isBeingPushed(b)) - Number(isBeingPushed(a)) || byGrant(a, b)),
    nextAt: dates.length === 0 ? null : Math.min(...dates),
  };
}

function isOpenAt(state: OpenAccount, reward: RewardState, now: number): boolean {
  if (isBeingPushed(reward)) return true;
  const { dateExpires, dateCancelled } = reward;
  const isOver = dateCancelled !== null || (dateExpires !== null && dateExpires <= now);
  return !isOver && mayBePushed(state, reward);
}

const isDiscount = ({ value }: RewardState): boolean => value.type === 'PCT_DISCOUNT';

const byGrant = (a: RewardState, b: RewardState): number =>
  a.dateGiven - b.dateGiven || (a.rewardId < b.rewardId ? -1 : 1);

/** A reward that the provider pays, as operators see it. */
export interface ShownPush {
  readonly rewardId: string;
  readonly state: 'WAITING' | 'PUSHED' | 'PARKED';
  readonly externalReference: string | null;
  readonly reason: string | null;
}

/** Of an account, oldest first; cancelled and expired ones that were never paid are left out. */
export function shownPushes(state: OpenAccount): readonly ShownPush[] {
  return [...state.rewards.values()]
    .filter(({ payTo, person }) => payTo !== undefined && !state.remains.forgotten.has(person))
    .filter(
      ({ pushed, dateCancelled, phase }) =>
        pushed?.status === 'PUSHED' || (dateCancelled === null && phase !== 'EXPIRED'),
    )
    .sort(byGrant)
    .map(({ rewardId, pushed }) => ({
      rewardId,
      state: pushStateOf(pushed),
      externalReference: pushed?.status === 'PUSHED' ? pushed.reference : null,
      reason: pushed?.reason ?? null,
    }));
}

/** `WAITING`: also while a call is under way. */
export const pushStateOf = (pushed: RewardState['pushed']): ShownPush['state'] =>
  pushed === undefined || pushed.status === 'STARTED' ? 'WAITING' : pushed.status;
