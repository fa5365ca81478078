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
  type OrphanedPush,
  type RewardState,
} from '../account.state.js';
import { Draft } from '../draft.js';
import { isTakenBack, takeBack } from '../referral/refunds.js';
import { isBeingPushed } from '../rewards/reward-state.js';
import { settle } from '../rewards/rewards.js';

/** Sent by the worker that makes the calls, before them; their outcome follows. */
export interface StartRewardPush {
  readonly type: 'StartRewardPush';
  readonly rewardId: string;
  /** The number of the start that this one replaces; 0: none. */
  readonly replaces: number;
  /** The customer's subscriptions that have not ended; null: not known yet. */
  readonly subscriptions: readonly ProviderSubscription[] | null;
  /** Subscriptions that have the discount. */
  readonly done: readonly string[];
  /** The provider's id of one of these discounts, or of the complete payment. */
  readonly reference?: string | undefined;
  /** The provider has paid all by a call that the log has lost. */
  readonly isPaid?: true;
  readonly firstPaid: PaidInvoice | null;
  readonly now: number;
}

/** A subscription with the ids of its discounts. */
export interface ProviderSubscription {
  readonly id: string;
  readonly discounts: readonly string[];
  /** Where it can name another reward; undefined: no room. */
  readonly slot?: number;
}

/** No events: nothing is to be paid, or a subscription must exist first. */
export function startRewardPush(
  state: AccountState,
  command: StartRewardPush,
): Decision<AccountEvent> {
  const { rewardId, replaces, now } = command;
  const known = state.status === 'open' ? state.rewards.get(rewardId) : undefined;
  if (state.status === 'absent' || !known) return { events: [] };
  if ((known.pushed?.push ?? 0) !== replaces) return { events: [] };
  if (isTakenBack(state, known) && !hasEffect(command)) return giveUp(state, known, now);
  if (isOfForgotten(state, known)) return finishForForgottenOwner(state, known, command);
  if (!isPushable(state, known)) return { events: [] };
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

const hasEffect = ({ done, isPaid }: StartRewardPush): boolean =>
  done.length > 0 || isPaid === true;

/** Instead of another start: the previous one had no effect, and its referral was refunded. */
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

/** True when its calls must not be repeated once they are known to have had no effect. */
export const isGivenUp = (state: OpenAccount, reward: RewardState): boolean =>
  isTakenBack(state, reward) || isOfForgotten(state, reward);

const isOfForgotten = ({ remains }: OpenAccount, { person }: RewardState): boolean =>
  remains.forgotten.has(person);

function isPushable(state: OpenAccount, reward: RewardState): boolean {
  const { payTo, pushed } = reward;
  const isOpen = payTo === 'provider' && pushed?.status !== 'PUSHED';
  return isOpen && state.paymentProviderId !== null && !isOfForgotten(state, reward);
}

/** Ends the push of a forgotten owner; subscriptions keep the discount. */
function finishForForgottenOwner(
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

/** Empty: all is paid. Undefined: subscriptions are needed; one may have the discount. */
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
    return balanceCredit(discountedAmount(firstPaid.amountPaid, value), firstPaid.currency);
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

/** Rounded down with integers: the product may exceed 2^53. */
const discountedAmount = (amount: number, { discountPercent }: Discount): number =>
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

/** The outcome of the calls. Sent at least once; that of a replaced start changes nothing. */
export interface RecordRewardPush {
  readonly type: 'RecordRewardPush';
  readonly rewardId: string;
  /** Number of the start that made the calls; 0: refused before any start. */
  readonly push: number;
  readonly outcome: PushOutcome;
  readonly now: number;
}

export type PushOutcome =
  /** `reference`: the provider's id of the payment or discount. */
  | { readonly kind: 'pushed'; readonly reference: string }
  | {
      readonly kind: 'refused';
      readonly reason: string;
      /** Subscriptions that have the discount. */
      readonly done: readonly string[];
      /** The provider's id of one of these discounts. */
      readonly reference?: string | undefined;
      /** An earlier call may have taken effect: the credit stays blocked until that is known. */
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
  if (!isCurrent || isRecorded(reward, command)) return { events: [] };
  const draft = new Draft(state);
  // Another process recorded a refusal and a refund, and the provider has paid.
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
  // Its expiry and its refund waited for the outcome.
  if (command.outcome.kind === 'refused') takeBack(draft, rewardId, now);
  return draft.decision();
}

function isRecorded(
  { pushed, dateCancelled }: RewardState,
  { outcome }: RecordRewardPush,
): boolean {
  if (outcome.kind !== 'refused') return false;
  const isSame =
    pushed?.reason === outcome.reason && pushed.mayBePaid === (outcome.mayBePaid === true);
  return dateCancelled !== null || (pushed?.status === 'PARKED' && isSame);
}

/** Of the redemption: never after the reward's expiry. */
function dateOf({ dateExpires, pushed }: RewardState, now: number): number {
  const isOver = dateExpires !== null && dateExpires <= now;
  return isOver && pushed !== undefined ? pushed.at : now;
}

interface Redeemed extends Pick<OrphanedPush, 'reward' | 'amount'> {
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

/** Omits the ids when their key is destroyed. */
function outcomeAfterDeletion(
  { reward, subject, amount, at }: OrphanedPush,
  command: RecordRewardPush,
): readonly AccountEvent[] {
  const nothing = <T>(): Personal<T> => ({ subject, value: null });
  return outcomeEvents(command, subject, { reward, amount, at }, nothing);
}

/** One payment per reward, so its id derives from the reward's. */
const providerRedemptionId = (rewardId: string): string => `${rewardId}-provider`;

export interface DuePushes {
  /** Payments in progress first, then the oldest. */
  readonly rewards: readonly RewardState[];
  /** When the next reward becomes due; null: none. */
  readonly nextAt: number | null;
}

/** @param retriesParked whether refused rewards are retried. */
export function duePushes(
  state: AccountState,
  { now, retriesParked }: { readonly now: number; readonly retriesParked: boolean },
): DuePushes {
  if (state.status === 'absent') return { rewards: [], nextAt: null };
  const open = [...state.toPush].flatMap((id) => state.rewards.get(id) ?? []);
  const coming = open.filter((reward) => isOpenAt(state, reward, now));
  const isStill = ({ pushed }: RewardState): boolean =>
    !retriesParked && pushed?.status === 'PARKED';
  // A subscription names only its newest discount, and a repeated call replaces later ones.
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
  return !isOver && isPushable(state, reward);
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

/** Oldest first, without cancelled and expired rewards that were never paid. */
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

/** `WAITING` includes calls in progress. */
export const pushStateOf = (pushed: RewardState['pushed']): ShownPush['state'] =>
  pushed === undefined || pushed.status === 'STARTED' ? 'WAITING' : pushed.status;
