import type { Provided } from '../../need.js';
import type { RewardTerms, SideStatus } from '../../program.js';
import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { AccountEvent, OperatorReason } from '../account.events.js';
import {
  amountLeft,
  rewardRef,
  type AccountState,
  type OpenAccount,
  type ReferralState,
  type RewardState,
} from '../account.state.js';
import { Draft } from '../draft.js';
import { holdOn, referralOf } from '../referral/former-referrals.js';
import { referredReward } from '../referral/referral.js';
import {
  cancel,
  grantDueReward,
  isCancellable,
  isRedeemedAutomatically,
  redeemIfAutomatic,
  settle,
} from '../rewards/rewards.js';
import { ownMember } from '../../own-member.js';

/** The sides of a referral when a person decided about them. */
export interface ObservedSides {
  readonly referred: SideStatus;
  readonly referrer: SideStatus;
}

/** New statuses of the sides of a referral; undefined: unchanged. */
export interface SideChanges {
  readonly referralId: string;
  readonly referred: SideStatus | undefined;
  readonly referrer: SideStatus | undefined;
  /** Refused when the sides differ from these; undefined: not compared. */
  readonly seen?: ObservedSides | undefined;
  /** Encrypted for the person of the side. */
  readonly reason?: OperatorReason | undefined;
}

/** The account's side in the referral: it holds the rewards of that side only. */
export type SideOfAccount = 'referred' | 'referrer';

export interface PrepareModeration {
  readonly type: 'PrepareModeration';
  readonly moderationId: string;
  readonly side: SideOfAccount;
  readonly changes: readonly SideChanges[];
  readonly now: number;
}

export function prepareModeration(
  state: AccountState,
  { moderationId, side, changes, now }: PrepareModeration,
): Decision<AccountEvent> {
  const reasons = changes.flatMap((change) =>
    reasonsAgainst(state, side, change, now).map((reason) => `${change.referralId}: ${reason}`),
  );
  if (reasons.length > 0) return { refused: 'MODERATION_NOT_POSSIBLE', details: reasons };
  // A deleted referrer's account has nothing to hold.
  if (side === 'referrer' && state.status === 'absent') return { events: [] };
  const holds = changes.map((change) => holdOn(state, change.referralId));
  const other = holds.find((hold) => hold !== undefined && hold !== moderationId);
  if (other !== undefined) return { heldBy: other };
  const toHold = changes
    .map((change) => change.referralId)
    .filter((_, index) => holds[index] === undefined);
  return {
    events:
      toHold.length === 0
        ? []
        : [{ type: 'ModerationPrepared', at: now, moderationId, referralIds: toHold }],
  };
}

function reasonsAgainst(
  state: AccountState,
  side: SideOfAccount,
  change: SideChanges,
  now: number,
): string[] {
  if (side === 'referred') {
    const referral = referralOf(state, change.referralId);
    if (!referral) return ['there is no such referral'];
    const { referredStatus, referrerStatus } = referral;
    const { referred = referredStatus, referrer = referrerStatus } = change.seen ?? {};
    if (referred !== referredStatus || referrer !== referrerStatus)
      return [
        `the sides were decided meanwhile: the referred side is ${referredStatus}, the referrer's ${referrerStatus}`,
      ];
  }
  // The rewards of a deleted account are gone with it.
  if (state.status === 'absent') return [];
  const status = change[side];
  if (status === undefined) return [];
  return rewardsOf(state, change.referralId).flatMap((reward) => {
    if (!isCancellable(state, reward)) return [`the ${side} side's reward is not cancellable`];
    const isRedeemed = reward.redeemed > 0 || isRedeemedAutomatically(reward, now);
    return status === 'DENIED' && isRedeemed ? [`the ${side} side's reward has been redeemed`] : [];
  });
}

export interface ApplyModeration {
  readonly type: 'ApplyModeration';
  readonly moderationId: string;
  readonly side: SideOfAccount;
  readonly changes: readonly SideChanges[];
  /** By referral: the id of the reward that an approval of the referred side grants. */
  readonly rewardIds: Readonly<Record<string, string>>;
  /** In a referrer's account: refunded referrals, whose rewards stay cancelled. */
  readonly refunded?: readonly string[];
  readonly provided: Provided;
  readonly now: number;
}

/** Applied once: a missing hold means that the change was applied before. */
export function applyModeration(
  state: AccountState,
  command: ApplyModeration,
): Decision<AccountEvent> {
  const { formerReferrals } = state.remains;
  const held = command.changes.filter(
    ({ referralId }) => holdOn(state, referralId) === command.moderationId,
  );
  const former = held.flatMap((change) => {
    const referral =
      command.side === 'referred' ? formerReferrals.get(change.referralId) : undefined;
    return referral ? [moderated(referral, change, command)] : [];
  });
  if (state.status === 'absent') return { events: former };
  const draft = new Draft(state, command.provided, command.moderationId);
  draft.emit(...former);
  for (const change of held) {
    if (command.side === 'referred') applyToReferred(draft, change, command);
    else applyToReferrer(draft, change, command);
  }
  return draft.decision();
}

function moderated(
  referral: ReferralState,
  { referred, referrer, reason }: SideChanges,
  { moderationId, now }: ApplyModeration,
): AccountEvent {
  return {
    type: 'ReferralModerated',
    at: now,
    moderationId,
    referralId: referral.referralId,
    referredStatus: referred ?? referral.referredStatus,
    referrerStatus: referrer ?? referral.referrerStatus,
    referrer: referral.referrer,
    // A refunded referral pays nothing anew, whatever its moderation decides.
    referrerReward: isRefunded(referral, referral.referrerEarned) ? null : referral.referrerEarned,
    programId: referral.programId,
    programVersion: referral.programVersion,
    ...(reason && { reason }),
  };
}

/** A refund ended the referral, or the conversion that earned this reward. */
const isRefunded = (
  { dateRefunded, dateConversionRefunded }: ReferralState,
  earned: RewardTerms | null,
): boolean =>
  dateRefunded !== undefined ||
  (dateConversionRefunded !== undefined && earned?.when === 'CONVERTED');

function applyToReferred(draft: Draft, change: SideChanges, command: ApplyModeration): void {
  const { rewardIds, now } = command;
  const { referral } = draft.state;
  if (referral?.referralId !== change.referralId) return;
  draft.emit(moderated(referral, change, command));
  if (change.referred === undefined) return;
  if (change.referred === 'APPROVED' && isRefunded(referral, referral.referredEarned)) return;
  moderateRewards(draft, change.referralId, change.referred, now);
  const rewardId = ownMember(rewardIds, change.referralId);
  const neverGiven = rewardsOf(draft.state, change.referralId).length === 0;
  if (
    change.referred === 'APPROVED' &&
    referral.referredEarned &&
    neverGiven &&
    rewardId !== undefined
  ) {
    const { programId: id, programVersion: version } = referral;
    const due = { rewardId, ...referredReward(referral, { id, version }) };
    grantDueReward(draft, referral.referredEarned, due, now);
  }
}

function applyToReferrer(
  draft: Draft,
  change: SideChanges,
  { moderationId, refunded = [], now }: ApplyModeration,
): void {
  if (change.referrer === undefined) return;
  draft.emit({
    type: 'ReferrerSideModerated',
    at: now,
    moderationId,
    referralId: change.referralId,
    status: change.referrer,
    ...(change.reason && { reason: change.reason }),
  });
  if (change.referrer === 'APPROVED' && refunded.includes(change.referralId)) return;
  moderateRewards(draft, change.referralId, change.referrer, now);
}

/** Denying cancels; approving restores, unless the reward was cancelled by request. */
function moderateRewards(draft: Draft, referralId: string, status: SideStatus, now: number): void {
  for (const { rewardId } of rewardsOf(draft.state, referralId)) {
    const reward = settle(draft, rewardId, now, { redeems: status !== 'DENIED' });
    if (!reward) continue;
    if (status === 'DENIED' && reward.dateCancelled === null)
      cancel(draft, rewardId, now, { by: 'MODERATION' });
    if (status === 'APPROVED' && reward.cancelledBy === 'MODERATION') {
      draft.emit({
        type: 'RewardRestored',
        at: now,
        ...rewardRef(reward),
        amount: amountLeft(reward),
      });
      settle(draft, rewardId, now);
      // Its automatic redemption came due while it was cancelled.
      redeemIfAutomatic(draft, rewardId, now);
    }
  }
}

export type ReleaseModeration = Command<'ReleaseModeration', { moderationId: string }>;

export function releaseModeration(
  state: AccountState,
  { moderationId, now }: ReleaseModeration,
): Decision<AccountEvent> {
  const isHeld = isHeldBy(state, moderationId);
  return { events: isHeld ? [{ type: 'ModerationReleased', at: now, moderationId }] : [] };
}

export const isHeldBy = (state: AccountState, moderationId: string): boolean =>
  (state.status === 'open' && state.holds.some((hold) => hold === moderationId)) ||
  state.remains.formerReferrals.some(({ heldBy }) => heldBy === moderationId);

function rewardsOf(state: OpenAccount, referralId: string): RewardState[] {
  return [...(state.rewardsByReferral.get(referralId) ?? [])].flatMap(
    (id) => state.rewards.get(id) ?? [],
  );
}
