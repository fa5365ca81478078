import { personal, type Personal } from '../../personal.js';
import type { GrantTerms, PromisedValue, RewardValue } from '../../program.js';
import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { InNeed, Provided, ProvidedTankCode } from '../../need.js';
import { refused, type Refused } from '../../refusal.js';
import type {
  AccountEvent,
  AccountEventOf,
  KeptReason,
  PartyIds,
  PersonId,
  RewardSource,
  RewardTexts,
  WithheldReason,
} from '../account.events.js';
import {
  amountLeft,
  presentReward,
  rewardRef,
  unitKey,
  type AccountState,
  type OpenAccount,
  type RewardState,
} from '../account.state.js';
import { Draft } from '../draft.js';
import { heldBy } from '../moderation/holds.js';
import { expiredBy, isoTime, notCancellable, sumTooLarge } from '../refusal-details.js';
import { isBeingPushed } from './reward-state.js';
import { isLimitReached, withheldKey } from './rule-counts.js';
import { ownMember } from '../../own-member.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Clients read larger JSON numbers inexactly. */
export const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

/** A reward as its event has it, without the owner's client ids; texts are plain. */
export type NewReward = Omit<AccountEventOf<'RewardGranted'>, 'type' | 'at' | 'owner' | 'texts'> &
  RewardTexts;

export function fitsUnderAmountMax(state: OpenAccount, value: PromisedValue): boolean {
  if (value.type !== 'CREDIT') return true;
  return (state.assignedEver.get(unitKey(value.unit)) ?? 0) <= AMOUNT_MAX - value.assignedCredit;
}

/** The currency of the unit's credit, if it differs from the value's. */
function otherCurrency(state: OpenAccount, value: PromisedValue): string | undefined {
  if (value.type !== 'CREDIT' || value.currency === null) return undefined;
  const currency = state.currencies.get(unitKey(value.unit));
  return currency === value.currency ? undefined : currency;
}

/** Credit without a currency takes that of its unit. */
function inCurrencyOfUnit(state: OpenAccount, value: RewardValue): RewardValue {
  if (value.type !== 'CREDIT' || value.currency !== null) return value;
  return { ...value, currency: state.currencies.get(unitKey(value.unit)) ?? null };
}

/** Grants a reward, and redeems it when that is automatic and due. */
export function grantNewReward(
  draft: Draft,
  { name, description, ...reward }: NewReward,
  at: number,
): void {
  const { person, value } = reward;
  const owner = personal(person, partyIds(draft.state, person));
  draft.emit({
    type: 'RewardGranted',
    at,
    ...reward,
    value: inCurrencyOfUnit(draft.state, value),
    owner,
    texts: rewardTexts(person, { name, description }),
  });
  redeemIfAutomatic(draft, reward.rewardId, at);
}

/** Encrypted for the owner; null without text. */
function rewardTexts(person: PersonId, { name, description }: RewardTexts): Personal<RewardTexts> {
  return {
    subject: person,
    value: name === null && description === null ? null : { name, description },
  };
}

/** The client's ids of a user; empty for a forgotten one. */
export function partyIds(state: OpenAccount, person: PersonId): PartyIds {
  return { accountId: state.accountId ?? '', userId: state.users.get(person)?.profile?.id ?? '' };
}

/** Origin of a reward that no program grants. */
export const MANUAL = {
  source: 'MANUAL',
  referralId: null,
  programId: null,
  programVersion: null,
  rule: null,
} as const;

/** A reward that is due by a program's rule. */
export interface DueReward {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly source: RewardSource;
  readonly referralId: string | null;
  readonly programId: string;
  readonly programVersion: number;
  readonly rule: string;
}

/** The delay counts from `earnedAt`, the validity from when the reward becomes available. */
export function rewardUnderTerms(
  terms: GrantTerms,
  earnedAt: number,
): Omit<NewReward, keyof DueReward | 'value'> {
  const { name, description, cancellable, redeemsAutomatically, payTo } = terms;
  const dateScheduledFor = terms.delayDays > 0 ? earnedAt + terms.delayDays * DAY_MS : null;
  const dateExpires =
    terms.validDays === null ? null : (dateScheduledFor ?? earnedAt) + terms.validDays * DAY_MS;
  const dates = { dateScheduledFor, dateExpires };
  const paid = payTo === undefined ? {} : { payTo };
  return { name, description, cancellable, redeemsAutomatically, ...dates, ...paid };
}

/** Grants the reward, or records why not; the command's other effects stay. */
export function grantDueReward(
  draft: Draft,
  terms: GrantTerms,
  due: DueReward,
  earnedAt: number,
): void {
  // The recipient is forgotten; the referral continues for the other side.
  if (draft.state.remains.forgotten.has(due.person)) return;
  if (draft.state.rewards.has(due.rewardId) || draft.state.withheld.has(withheldKey(due))) return;
  if (!fitsUnderAmountMax(draft.state, terms.value))
    return withhold(draft, due, 'AMOUNT_TOO_LARGE', earnedAt);
  if (otherCurrency(draft.state, terms.value) !== undefined)
    return withhold(draft, due, 'CURRENCY_DIFFERS', earnedAt);
  if (isLimitReached(draft.state.grantedByRule, due, terms.limit, earnedAt)) {
    return withhold(draft, due, 'LIMIT_REACHED', earnedAt);
  }
  const value = obtainValue(draft, terms.value, due);
  if (value === undefined) return;
  if (value === 'none left') return withhold(draft, due, 'POOL_EMPTY', earnedAt);
  grantNewReward(draft, { ...due, ...rewardUnderTerms(terms, earnedAt), value }, earnedAt);
}

/** Undefined: a tank code is needed first. */
function obtainValue(
  draft: Draft,
  value: PromisedValue,
  due: DueReward,
): RewardValue | 'none left' | undefined {
  if (value.type !== 'FUELTANK') return value;
  const { rewardId, programId, programVersion, rule } = due;
  const { lapses } = draft.state.remains;
  const provided = reservedCode(draft.state, rewardId, draft.provided);
  if (!provided) {
    draft.need({ kind: 'tank-code', rewardId, programId, programVersion, rule, value, lapses });
    return undefined;
  }
  return provided.code === null ? 'none left' : { ...value, fuelTankCode: provided.code };
}

/** A code reserved before the newest lapse may belong to another reward by now. */
export function reservedCode(
  { remains: { lapses } }: AccountState,
  rewardId: string,
  { tankCodes }: Provided,
): ProvidedTankCode | undefined {
  const found = ownMember(tankCodes, rewardId);
  return found?.code === null || found?.lapses === lapses ? found : undefined;
}

/** Of a reward that brings its tank code: it is taken out of the pools first. */
export function neededCode(
  state: AccountState,
  value: RewardValue,
  rewardId: string,
  provided: Provided,
): InNeed | undefined {
  if (value.type !== 'FUELTANK' || reservedCode(state, rewardId, provided)) return undefined;
  const { fuelTankCode: given, ...promised } = value;
  const of = { rewardId, programId: '', programVersion: 0, rule: '', value: promised };
  return { needs: [{ kind: 'tank-code', ...of, lapses: state.remains.lapses, given }] };
}

export function withhold(
  draft: Draft,
  due: Omit<DueReward, 'source'>,
  reason: WithheldReason,
  at: number,
): void {
  const { rewardId, referralId, person, programId, programVersion, rule } = due;
  draft.emit({
    type: 'RewardWithheld',
    at,
    rewardId,
    referralId,
    person,
    programId,
    programVersion,
    rule,
    reason,
  });
}

/**
 * Records a reward's due changes, so that the order of the ledger always explains the balance.
 * `redeems: false` for a moderation that denies: it held the reward before its date.
 */
export function settle(
  draft: Draft,
  rewardId: string,
  now: number,
  { redeems = true } = {},
): RewardState | undefined {
  const due = draft.state.rewards.get(rewardId);
  if (!due || due.dateCancelled !== null) return due;
  if (due.phase === 'PENDING' && due.dateScheduledFor !== null && due.dateScheduledFor <= now) {
    draft.emit({
      type: 'RewardBecameAvailable',
      at: due.dateScheduledFor,
      ...rewardRef(due),
      amount: amountLeft(due),
    });
    if (redeems) redeemIfAutomatic(draft, rewardId, due.dateScheduledFor);
  }
  const available = draft.state.rewards.get(rewardId);
  if (
    available &&
    available.phase !== 'EXPIRED' &&
    // The provider may have paid it: the outcome decides.
    !isBeingPushed(available) &&
    available.dateExpires !== null &&
    available.dateExpires <= now
  ) {
    draft.emit({
      type: 'RewardExpired',
      at: available.dateExpires,
      ...rewardRef(available),
      amount: amountLeft(available),
    });
  }
  return draft.state.rewards.get(rewardId);
}

/** One automatic redemption per reward, so its id derives from the reward's. */
export const automaticRedemptionId = (rewardId: string): string => `${rewardId}-automatic`;

export function redeemIfAutomatic(draft: Draft, rewardId: string, at: number): void {
  const reward = draft.state.rewards.get(rewardId);
  if (
    !reward?.redeemsAutomatically ||
    reward.phase !== 'AVAILABLE' ||
    reward.dateCancelled !== null
  )
    return;
  const amount = amountLeft(reward);
  if (amount > 0)
    draft.emit({
      type: 'CreditRedeemed',
      at,
      ...rewardRef(reward),
      redemptionId: automaticRedemptionId(rewardId),
      amount,
    });
}

/** Whether it is redeemed automatically, recorded or not. */
export const isRedeemedAutomatically = (reward: RewardState, now: number): boolean =>
  reward.redeemsAutomatically &&
  reward.value.type === 'CREDIT' &&
  reward.dateCancelled === null &&
  (reward.phase !== 'PENDING' || (reward.dateScheduledFor ?? 0) <= now);

/** POST reward. Epoch milliseconds; a scheduled date in the past means now. */
export type CreateReward = Command<
  'CreateReward',
  Omit<
    NewReward,
    keyof typeof MANUAL | 'person' | 'payTo' | 'adjustment' | 'imported' | 'reason'
  > & {
    userId: string;
    /** Of an operator. */
    reason?: string | undefined;
  }
>;

export function createReward(state: AccountState, command: CreateReward): Decision<AccountEvent> {
  const { type: _type, userId, now, reason, ...given } = command;
  const { rewardId, value, dateExpires } = given;
  const dateScheduledFor = (given.dateScheduledFor ?? 0) > now ? given.dateScheduledFor : null;
  if (dateExpires !== null && dateExpires <= now)
    return refused('REWARD_DATES_INVALID', expiredBy(now));
  if (dateExpires !== null && dateScheduledFor !== null && dateExpires < dateScheduledFor) {
    return refused(
      'REWARD_DATES_INVALID',
      `dateExpires must not be before dateScheduledFor, ${isoTime(dateScheduledFor)}`,
    );
  }
  const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  if (state.rewards.has(rewardId)) return refused('REWARD_EXISTS');
  const against = refusalOfValue(state, value);
  if (against) return against;
  const draft = new Draft(state);
  const why = reasonAbout(person, reason);
  grantNewReward(draft, { ...given, person, dateScheduledFor, ...MANUAL, ...why }, now);
  return draft.decision();
}

const reasonAbout = (person: PersonId, reason: string | undefined) =>
  reason === undefined ? {} : { reason: personal(person, reason) };

/** Checks the value against the account's credit in the unit. */
export function refusalOfValue(state: OpenAccount, value: RewardValue): Refused | undefined {
  if (value.type !== 'CREDIT') return undefined;
  if (!fitsUnderAmountMax(state, value))
    return refused('AMOUNT_TOO_LARGE', sumTooLarge(value.unit, AMOUNT_MAX));
  const currency = otherCurrency(state, value);
  return currency === undefined
    ? undefined
    : refused(
        'CURRENCY_DIFFERS',
        `currency must be ${currency}, as of the account's other ${value.unit}, not ${value.currency}`,
      );
}

export type CancelReward = Command<
  'CancelReward',
  { rewardId: string; /** Of an operator. */ reason?: string | undefined }
>;

/** Repeated, it only keeps a moderation's approval from restoring the reward. */
export function cancelReward(
  state: AccountState,
  { rewardId, reason, now }: CancelReward,
): Decision<AccountEvent> {
  const reward = state.status === 'open' ? presentReward(state, rewardId) : undefined;
  if (state.status === 'absent' || !reward) return refused('REWARD_NOT_FOUND');
  const hold = heldBy(state, reward);
  if (hold !== undefined) return { heldBy: hold };
  if (reward.cancelledBy === 'REQUEST') return { events: [] };
  const draft = new Draft(state);
  const settled = settle(draft, rewardId, now) ?? reward;
  if (!isCancellable(draft.state, settled) || settled.redeemed > 0)
    return refused('REWARD_NOT_CANCELLABLE', notCancellable(settled));
  cancel(draft, rewardId, now, { by: 'REQUEST', ...reasonAbout(reward.person, reason) });
  return draft.decision();
}

/** A reward that the provider pays is the provider's once the account has a customer there. */
export const isCancellable = (
  { paymentProviderId }: Pick<OpenAccount, 'paymentProviderId'>,
  { cancellable, payTo }: RewardState,
): boolean => cancellable && (payTo === undefined || paymentProviderId === null);

export function cancel(
  draft: Draft,
  rewardId: string,
  now: number,
  cause: Pick<AccountEventOf<'RewardCancelled'>, 'by' | 'reason'>,
): void {
  const reward = draft.state.rewards.get(rewardId);
  if (!reward) return;
  // Cancelled by a moderation before: only the canceller changes, so the amount is posted once.
  const amount = reward.dateCancelled === null ? amountLeft(reward) : 0;
  draft.emit({ type: 'RewardCancelled', at: now, ...rewardRef(reward), amount, ...cause });
}

/** After a refund: cancels the reward, unless it is partly redeemed or not cancellable. */
export function cancelOrKeep(draft: Draft, rewardId: string, now: number): void {
  const reward = settle(draft, rewardId, now);
  if (!reward || reward.cancelledBy === 'REQUEST') return;
  if (draft.state.remains.forgotten.has(reward.person)) return;
  const keep = (reason: KeptReason): void =>
    draft.emit({ type: 'RewardKept', at: now, ...rewardRef(reward), reason });
  if (reward.redeemed > 0) keep('REDEEMED');
  else if (!isCancellable(draft.state, reward)) keep('NOT_CANCELLABLE');
  else cancel(draft, rewardId, now, { by: 'REQUEST' });
}

/** Records that a reward became available or expired, if due and unrecorded. */
export type SettleReward = Command<'SettleReward', { rewardId: string; date?: number }>;

/** @param date of the command's job: later dates have jobs of their own. */
export function settleReward(
  state: AccountState,
  { rewardId, now, date = now }: SettleReward,
): Decision<AccountEvent> {
  const reward = state.status === 'open' ? state.rewards.get(rewardId) : undefined;
  if (state.status === 'absent' || !reward) return { events: [] };
  const draft = new Draft(state);
  settle(draft, rewardId, Math.min(date, now));
  return draft.decision();
}
