import type { RewardTerms, RewardValue } from '../program.js';
import { personal } from '../personal.js';
import { refused, type Decision } from '../refusal.js';
import type { AccountEvent, PartyIds, PersonId, RewardSource } from './account.events.js';
import {
  amountLeft,
  Draft,
  presentReward,
  rewardRef,
  unitKey,
  type AccountState,
  type OpenAccount,
  type RewardState,
} from './account.state.js';

/** Rewards: given, available, expired, cancelled. Everything that depends on the time is decided by the clock in the command. */

const DAY_MS = 24 * 60 * 60 * 1000;
/** Amounts are JSON integers: beyond 2^53-1 a client would read another number than we wrote. */
export const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

export interface NewReward {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly source: RewardSource;
  readonly value: RewardValue;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  readonly dateScheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly referralId: string | null;
  readonly programId: string | null;
  readonly programVersion: number | null;
}

export function fitsUnderAmountMax(state: OpenAccount, value: RewardValue): boolean {
  if (value.type !== 'CREDIT') return true;
  return (state.assignedEver.get(unitKey(value.unit)) ?? 0) <= AMOUNT_MAX - value.assignedCredit;
}

export function rewardGranted(state: OpenAccount, reward: NewReward, at: number): AccountEvent {
  return { type: 'RewardGranted', at, ...reward, owner: personal(reward.person, partyIds(state, reward.person)) };
}

/** The ids that clients know a user of this account by; empty text for somebody forgotten. */
export function partyIds(state: OpenAccount, person: PersonId): PartyIds {
  return { accountId: state.accountId ?? '', userId: state.users.get(person)?.profile?.id ?? '' };
}

/** Turns terms into a reward earned at `earnedAt`: the delay counts from then, the validity from when it became available. */
export function underTerms(
  terms: RewardTerms,
  earnedAt: number,
): Pick<NewReward, 'value' | 'name' | 'description' | 'cancellable' | 'dateScheduledFor' | 'dateExpires'> {
  const { value, name, description, cancellable } = terms;
  const dateScheduledFor = terms.delayDays > 0 ? earnedAt + terms.delayDays * DAY_MS : null;
  const dateExpires = terms.validDays === null ? null : (dateScheduledFor ?? earnedAt) + terms.validDays * DAY_MS;
  return { value, name, description, cancellable, dateScheduledFor, dateExpires };
}

/** Grants what terms promise, or records why that cannot be: a conversion goes on without a reward that would break the limit of amounts. */
export function grantUnderTerms(
  draft: Draft,
  terms: RewardTerms,
  reward: Omit<NewReward, keyof ReturnType<typeof underTerms>>,
  earnedAt: number,
): void {
  // The referral goes on for the other side; this one has nobody left to give to.
  if (draft.state.remains.forgotten.has(reward.person)) return;
  if (!fitsUnderAmountMax(draft.state, terms.value)) {
    draft.emit({ type: 'RewardWithheld', at: earnedAt, referralId: reward.referralId, person: reward.person, reason: 'AMOUNT_TOO_LARGE' });
    return;
  }
  draft.emit(rewardGranted(draft.state, { ...reward, ...underTerms(terms, earnedAt) }, earnedAt));
}

/** Records what the clock says is due of one reward, so that the ledger's order always explains the balance. */
export function settle(draft: Draft, rewardId: string, now: number): RewardState | undefined {
  const due = draft.state.rewards.get(rewardId);
  if (!due || due.dateCancelled !== null) return due;
  if (due.phase === 'PENDING' && due.dateScheduledFor !== null && due.dateScheduledFor <= now) {
    draft.emit({ type: 'RewardBecameAvailable', at: due.dateScheduledFor, ...rewardRef(due), amount: amountLeft(due) });
  }
  const available = draft.state.rewards.get(rewardId);
  if (available && available.phase !== 'EXPIRED' && available.dateExpires !== null && available.dateExpires <= now) {
    draft.emit({ type: 'RewardExpired', at: available.dateExpires, ...rewardRef(available), amount: amountLeft(available) });
  }
  return draft.state.rewards.get(rewardId);
}

/** The moderation that holds this reward, if any. */
export const heldBy = (state: OpenAccount, reward: RewardState): string | undefined =>
  reward.referralId === null ? undefined : state.holds.get(reward.referralId);

/** POST reward: a reward by hand. Dates are epoch milliseconds; a scheduled date in the past means now. */
export interface CreateReward {
  readonly type: 'CreateReward';
  readonly userId: string;
  readonly rewardId: string;
  readonly value: RewardValue;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  readonly dateScheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly now: number;
}

export function createReward(state: AccountState, command: CreateReward): Decision<AccountEvent> {
  const person = state.status === 'open' ? state.personsByUserId.get(command.userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const { rewardId, value, name, description, cancellable, dateExpires, now } = command;
  const dateScheduledFor = command.dateScheduledFor !== null && command.dateScheduledFor > now ? command.dateScheduledFor : null;
  if (dateExpires !== null && dateExpires <= now) return refused('REWARD_DATES_INVALID', 'dateExpires must lie in the future');
  if (dateExpires !== null && dateScheduledFor !== null && dateExpires < dateScheduledFor) {
    return refused('REWARD_DATES_INVALID', 'dateExpires must not be before dateScheduledFor');
  }
  if (!fitsUnderAmountMax(state, value)) return refused('AMOUNT_TOO_LARGE');
  const reward: NewReward = {
    ...{ rewardId, person, value, name, description, cancellable, dateScheduledFor, dateExpires },
    ...{ source: 'MANUAL', referralId: null, programId: null, programVersion: null },
  };
  return { events: [rewardGranted(state, reward, now)] };
}

export interface CancelReward {
  readonly type: 'CancelReward';
  readonly rewardId: string;
  readonly now: number;
}

/** Cancelling twice changes nothing. A reward that a moderation cancelled is pinned: approving does not bring it back then. */
export function cancelReward(state: AccountState, { rewardId, now }: CancelReward): Decision<AccountEvent> {
  const reward = state.status === 'open' ? presentReward(state, rewardId) : undefined;
  if (state.status === 'absent' || !reward) return refused('REWARD_NOT_FOUND');
  const hold = heldBy(state, reward);
  if (hold !== undefined) return { heldBy: hold };
  if (reward.cancelledBy === 'REQUEST') return { events: [] };
  if (!reward.cancellable || reward.redeemed > 0) return refused('REWARD_NOT_CANCELLABLE');
  const draft = new Draft(state);
  settle(draft, rewardId, now);
  cancel(draft, rewardId, now, 'REQUEST');
  return { events: draft.events };
}

export function cancel(draft: Draft, rewardId: string, now: number, by: 'REQUEST' | 'MODERATION'): void {
  const reward = draft.state.rewards.get(rewardId);
  if (!reward) return;
  // Cancelled already (by a moderation): only who cancelled changes, so no amount is posted a second time.
  const amount = reward.dateCancelled === null ? amountLeft(reward) : 0;
  draft.emit({ type: 'RewardCancelled', at: now, ...rewardRef(reward), amount, by });
}

/** The clock's command: records that a reward became available or expired, if that is so and not recorded yet. */
export interface SettleReward {
  readonly type: 'SettleReward';
  readonly rewardId: string;
  readonly now: number;
}

export function settleReward(state: AccountState, { rewardId, now }: SettleReward): Decision<AccountEvent> {
  if (state.status === 'absent') return { events: [] };
  const draft = new Draft(state);
  settle(draft, rewardId, now);
  return { events: draft.events };
}
