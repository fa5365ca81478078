import type { CustomerPicture, PaidInvoice } from '../../customer/customer.state.js';
import { minorDigitsOf } from '../../currencies.js';
import type { Decision } from '../../decision.js';
import type { Ask } from '../../fact.js';
import type { AccountEvent, Subscription } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import { Draft } from '../draft.js';
import { end, startAndConvert, type ReferralContext } from '../referral/referral.js';
import { takeBack } from '../referral/refunds.js';
import { changesSubscription } from '../sync-account.js';

/**
 * Brings the account to what the payment provider says of its customer. Sent by a policy, at least
 * once, in any order: a picture that the account matches changes nothing.
 */
export interface ApplyCustomer {
  readonly type: 'ApplyCustomer';
  readonly picture: CustomerPicture;
  readonly context: ReferralContext;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export function applyCustomer(
  state: AccountState,
  { picture, context }: ApplyCustomer,
): Decision<AccountEvent> {
  if (state.status === 'absent') return { events: [] };
  const draft = new Draft(state, context.provided);
  const { status } = picture;
  const newestPaid = isAfter(picture.newestPaid, state.paidUntil) ? picture.newestPaid : null;
  // A first paid invoice converts, whatever became of the customer since.
  if (newestPaid !== null && !draft.state.hasPaid) pay(draft, newestPaid, context);
  if (status === 'PAID' && newestPaid !== null) pay(draft, newestPaid, context);
  if (status === 'TRIAL' || status === 'CANCELLED') subscribe(draft, { status }, context.now);
  startAndConvert(draft, context);
  if (status === 'CANCELLED') end(draft, context.now);
  refund(draft, picture, context);
  return draft.decision();
}

/** What the account had paid before its referral was imported does not count again. */
const isAfter = (paid: PaidInvoice | null, until: number | null): boolean =>
  until === null || (paid !== null && paid.created > until);

function pay(
  draft: Draft,
  { amountPaid, currency, interval }: PaidInvoice,
  { now }: ReferralContext,
): void {
  if (currency !== draft.state.currency) draft.emit({ type: 'CurrencyChanged', at: now, currency });
  const billed = interval && {
    billingIntervalType: interval.type,
    billingIntervalValue: interval.value,
  };
  const value = amountPaid / 10 ** minorDigitsOf(currency);
  subscribe(draft, { status: 'PAID', value, ...billed }, now);
}

function subscribe(draft: Draft, subscription: Subscription, at: number): void {
  if (changesSubscription(draft.state, subscription))
    draft.emit({ type: 'SubscriptionChanged', at, subscription });
}

/** A first invoice that was refunded in full within the program's days: the referral is over. */
function refund(
  draft: Draft,
  { firstPaid, refundedAt }: CustomerPicture,
  { program, now }: ReferralContext,
): void {
  const { referral } = draft.state;
  const days = program?.refundDays ?? null;
  if (!referral || referral.dateRefunded !== undefined || days === null) return;
  if (firstPaid === null || refundedAt === null) return;
  if (refundedAt > firstPaid.created + days * DAY_MS) return;
  const { referralId, referrer } = referral;
  draft.emit({ type: 'ReferralRefunded', at: now, referralId, referrer });
  end(draft, now);
  takeBackRewards(draft, referralId, now);
}

/** The referrer's side of a refunded referral. Sent by a policy, at least once. */
export type CancelRefundedRewards = Ask<'CancelRefundedRewards', { referralId: string }>;

export function cancelRefundedRewards(
  state: AccountState,
  { referralId, now }: CancelRefundedRewards,
): Decision<AccountEvent> {
  if (state.status === 'absent') return { events: [] };
  const draft = new Draft(state);
  // Kept: the outcome of a call that is under way decides about its reward.
  if (!state.refunded.has(referralId))
    draft.emit({ type: 'ReferrerSideRefunded', at: now, referralId });
  takeBackRewards(draft, referralId, now);
  return draft.decision();
}

function takeBackRewards(draft: Draft, referralId: string, now: number): void {
  draft.restOn(referralId);
  for (const rewardId of draft.state.rewardsByReferral.get(referralId) ?? [])
    takeBack(draft, rewardId, now);
}
