import type { PayTo, RewardValue } from '../../program.js';
import type {
  AccountEventOf,
  PersonId,
  ProviderCall,
  RewardRef,
  RewardSource,
} from '../account.events.js';

export type RewardPhase = 'PENDING' | 'AVAILABLE' | 'EXPIRED';

export interface RewardState {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly source: RewardSource;
  readonly value: RewardValue;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  readonly dateGiven: number;
  readonly dateScheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly referralId: string | null;
  readonly redeemed: number;
  /** As recorded; commands first record what is due by their clock. */
  readonly phase: RewardPhase;
  readonly dateCancelled: number | null;
  readonly cancelledBy: 'REQUEST' | 'MODERATION' | null;
  readonly redeemsAutomatically: boolean;
  /** Absent: it stays in the ledger. */
  readonly payTo?: PayTo;
  /** Absent: its payment has not begun. */
  readonly pushed?: RewardPush;
  /** Redeemed by the provider's payment. */
  readonly paid?: { readonly amount: number; readonly reference: string | null };
}

/** Progress of the payment by the provider. */
export interface RewardPush {
  /** Number of the newest start; 0: refused before any. */
  readonly push: number;
  readonly status: 'STARTED' | 'PUSHED' | 'PARKED';
  /** Time of the newest start. */
  readonly at: number;
  /** Credit that is paid; 0 for a discount. */
  readonly amount: number;
  /** Of the newest start. Null: erased. */
  readonly calls: readonly ProviderCall[] | null;
  /** Subscriptions that got the discount by earlier starts. */
  readonly done: readonly string[];
  readonly reason: string | null;
  /** Parked, and an earlier call may have taken effect. */
  readonly mayBePaid: boolean;
  /** The provider's id of the payment or a discount, also by an earlier start. */
  readonly reference: string | null;
}

/** Member by member: copying the event took twenty times as long, and four times the memory. */
export function grantedReward(event: AccountEventOf<'RewardGranted'>): RewardState {
  const { name, description } = event.texts.value ?? { name: null, description: null };
  const { imported } = event;
  return {
    rewardId: event.rewardId,
    person: event.person,
    source: event.source,
    value: event.value,
    name,
    description,
    cancellable: event.cancellable,
    dateScheduledFor: event.dateScheduledFor,
    dateExpires: event.dateExpires,
    referralId: event.referralId,
    redeemsAutomatically: event.redeemsAutomatically,
    dateGiven: event.at,
    redeemed: imported?.redeemed ?? 0,
    phase: imported?.phase ?? (event.dateScheduledFor === null ? 'AVAILABLE' : 'PENDING'),
    dateCancelled: imported?.dateCancelled ?? null,
    // As after a request: no moderation restores it.
    cancelledBy: imported?.dateCancelled == null ? null : 'REQUEST',
    ...(event.payTo && { payTo: event.payTo }),
  };
}

export function redeemedBy(
  reward: RewardState,
  { amount, externalReference }: AccountEventOf<'CreditRedeemed'>,
): RewardState {
  const redeemed = reward.redeemed + amount;
  if (externalReference === undefined) return { ...reward, redeemed };
  const paid = { amount: (reward.paid?.amount ?? 0) + amount, reference: externalReference.value };
  return { ...reward, redeemed, paid };
}

/** Remaining credit; 0 for other types. */
export const amountLeft = (reward: RewardState): number =>
  reward.value.type === 'CREDIT' ? reward.value.assignedCredit - reward.redeemed : 0;

/** A call of the provider may be in progress, or may have taken effect. */
export const isBeingPushed = ({ pushed }: Pick<RewardState, 'pushed'>): boolean =>
  pushed?.status === 'STARTED' || (pushed?.status === 'PARKED' && pushed.mayBePaid);

export { unitKey } from '../../units.js';

export const unitOf = (value: RewardValue): string | null =>
  value.type === 'PCT_DISCOUNT' ? '%' : value.unit;

export const rewardRef = (reward: RewardState): RewardRef => ({
  rewardId: reward.rewardId,
  person: reward.person,
  rewardType: reward.value.type,
  unit: unitOf(reward.value),
});
