import type { CustomerSummary, PaidInvoice } from '../../customer/customer.state.js';
import { minorDigitsOf } from '../../currencies.js';
import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { AccountEvent, Subscription } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import { Draft } from '../draft.js';
import { endReferral, startAndConvert, type ReferralContext } from '../referral/referral.js';
import { takeBack } from '../referral/refunds.js';
import { changesSubscription } from '../sync-account.js';

/** Sent by a policy, at least once, in any order: equal data changes nothing. */
export interface ApplyCustomer {
  readonly type: 'ApplyCustomer';
  readonly picture: CustomerSummary;
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
  // A first paid invoice converts, whatever the customer's later events say.
  if (newestPaid !== null && !draft.state.hasPaid) pay(draft, newestPaid, context);
  if (status === 'PAID' && newestPaid !== null) pay(draft, newestPaid, context);
  if (status === 'TRIAL' || status === 'CANCELLED') subscribe(draft, { status }, context.now);
  startAndConvert(draft, context);
  if (status === 'CANCELLED') endReferral(draft, context.now);
  refund(draft, picture, context);
  return draft.decision();
}

/** Invoices paid before the import of the referral do not count again. */
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

/** The first invoice was refunded in full within the program's days: ends the referral. */
function refund(
  draft: Draft,
  { firstPaid, refundedAt }: CustomerSummary,
  { program, now }: ReferralContext,
): void {
  const { referral } = draft.state;
  const days = program?.refundDays ?? null;
  if (!referral || referral.dateRefunded !== undefined || days === null) return;
  if (firstPaid === null || refundedAt === null) return;
  if (refundedAt > firstPaid.created + days * DAY_MS) return;
  const { referralId, referrer } = referral;
  draft.emit({ type: 'ReferralRefunded', at: now, referralId, referrer });
  endReferral(draft, now);
  takeBackRewards(draft, referralId, now);
}

/** The referrer's side of a refunded referral. Sent by a policy, at least once. */
export type CancelRefundedRewards = Command<'CancelRefundedRewards', { referralId: string }>;

export function cancelRefundedRewards(
  state: AccountState,
  { referralId, now }: CancelRefundedRewards,
): Decision<AccountEvent> {
  if (state.status === 'absent') return { events: [] };
  const draft = new Draft(state);
  // A reward with a call in progress is kept: its outcome decides.
  if (!state.refunded.has(referralId))
    draft.emit({ type: 'ReferrerSideRefunded', at: now, referralId });
  takeBackRewards(draft, referralId, now);
  return draft.decision();
}

function takeBackRewards(draft: Draft, referralId: string, now: number): void {
  draft.dependOn(referralId);
  for (const rewardId of draft.state.rewardsByReferral.get(referralId) ?? [])
    takeBack(draft, rewardId, now);
}
