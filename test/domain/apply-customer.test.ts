import type { CompleteCommand } from './support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { CustomerPicture } from '../../src/domain/customer/customer.state.js';
import {
  accountAttributed,
  accountOpened,
  discount,
  referralConverted,
  referralStarted,
  rewardCancelled,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  annStands,
  aProgram,
  BOB,
  DAY_MS,
  given,
  noCode,
  NOW,
  TEN_DOLLARS,
} from './support/account-scenario.js';
import { NO_PICTURE } from './support/commands.js';

/** An account follows the customer of its payment provider. */

const INVOICE = {
  created: NOW - DAY_MS,
  amountPaid: 1999,
  currency: 'EUR',
  interval: { type: 'MONTH', value: 3 },
} as const;
const PAID: CustomerPicture = {
  ...NO_PICTURE,
  firstPaid: INVOICE,
  newestPaid: INVOICE,
  status: 'PAID',
};
const PAID_SUBSCRIPTION = {
  status: 'PAID',
  value: 19.99,
  billingIntervalType: 'MONTH',
  billingIntervalValue: 3,
} as const;

const apply = (
  picture: CustomerPicture,
  context: Extract<CompleteCommand, { type: 'ApplyCustomer' }>['context'] = noCode(),
): CompleteCommand => ({ type: 'ApplyCustomer', picture, context });

const euros: AccountEvent = { type: 'CurrencyChanged', at: NOW, currency: 'EUR' };
/** Under the terms of the default program. */
const CONVERTED = referralConverted('referral', ANN, {
  at: NOW,
  referrerReward: TEN_DOLLARS,
});
const REFERRED = [
  accountOpened(ACME),
  userIdentified(ACME, 'bob'),
  accountAttributed('ANNLEE', ANN),
  referralStarted('referral', BOB, ANN),
];

it('a paid invoice changes the subscription and the currency, and converts', () => {
  given(REFERRED)
    .when(apply(PAID, annStands()))
    .then(euros, subscriptionChanged(PAID_SUBSCRIPTION, NOW), CONVERTED);
});

it.each([
  ['USD', 10],
  ['JPY', 1000],
  ['KWD', 1],
])('an amount of 1000 in %s is %d', (currency, value) => {
  const newest = { ...INVOICE, currency, amountPaid: 1000, interval: null };
  given(accountOpened(ACME), { type: 'CurrencyChanged', at: NOW, currency })
    .when(apply({ ...PAID, newestPaid: newest }))
    .then(subscriptionChanged({ status: 'PAID', value }, NOW));
});

it('a provider state that the account matches changes nothing', () => {
  given(accountOpened(ACME), euros, subscriptionChanged(PAID_SUBSCRIPTION))
    .when(apply(PAID))
    .then();
});

it('a later invoice changes the subscription, and the currency if it is another one', () => {
  const newest = { ...INVOICE, created: NOW, amountPaid: 2999, interval: null };
  const paid = [accountOpened(ACME), euros, subscriptionChanged(PAID_SUBSCRIPTION)];
  given(paid)
    .when(apply({ ...PAID, newestPaid: newest }))
    .then(subscriptionChanged({ status: 'PAID', value: 29.99 }, NOW));
  given(paid)
    .when(apply({ ...PAID, newestPaid: { ...newest, currency: 'USD' } }))
    .then(
      { type: 'CurrencyChanged', at: NOW, currency: 'USD' },
      subscriptionChanged({ status: 'PAID', value: 29.99 }, NOW),
    );
});

it('a customer that has paid and is on trial again keeps what it converted', () => {
  given(accountOpened(ACME), euros, subscriptionChanged(PAID_SUBSCRIPTION))
    .when(apply({ ...PAID, status: 'TRIAL' }))
    .then(subscriptionChanged({ status: 'TRIAL' }, NOW));
});

it('an absent account follows no customer', () => {
  given().when(apply(PAID)).then();
  given().when({ type: 'CancelRefundedRewards', referralId: 'referral', now: NOW }).then();
});

it('a paid invoice converts, though the customer has ended since', () => {
  given(REFERRED)
    .when(apply({ ...PAID, status: 'CANCELLED' }, annStands()))
    .then(
      euros,
      subscriptionChanged(PAID_SUBSCRIPTION, NOW),
      subscriptionChanged({ status: 'CANCELLED' }, NOW),
      CONVERTED,
      { type: 'ReferralEnded', at: NOW, referralId: 'referral' },
    );
});

it('where a program converts on an event, a paid invoice does not convert', () => {
  const program = aProgram({
    conversion: { on: 'EVENT', key: 'signed', firstTimeOnly: false, minimum: null },
  });
  given(REFERRED)
    .when(apply(PAID, annStands({ program })))
    .then(euros, subscriptionChanged(PAID_SUBSCRIPTION, NOW));
});

const ten = rewardGranted('ten', BOB, discount(10), { referralId: 'referral' });
const converted = [
  ...REFERRED,
  ten,
  euros,
  subscriptionChanged(PAID_SUBSCRIPTION),
  referralConverted('referral', ANN),
];
const refunded = { ...PAID, refundedAt: INVOICE.created + 30 * DAY_MS };
const within = (refundDays: number | null) => annStands({ program: aProgram({ refundDays }) });
const taken: AccountEvent[] = [
  { type: 'ReferralRefunded', at: NOW, referralId: 'referral', referrer: ANN },
  { type: 'ReferralEnded', at: NOW, referralId: 'referral' },
];

it('a first invoice that was refunded in full ends the referral within the days of the program, and cancels what is not redeemed', () => {
  given(converted)
    .when(apply(refunded, within(30)))
    .then(...taken, rewardCancelled(ten, 0, NOW));
});

it('a first invoice that was refunded in full once', () => {
  given(converted, taken, rewardCancelled(ten, 0, NOW))
    .when(apply(refunded, within(30)))
    .then();
});

it('a first invoice that was refunded in full of a program that converts on an event: its conversion earns nothing any more', () => {
  const program = aProgram({ refundDays: 30 });
  const before = [...REFERRED, ...taken, userIdentified(ACME, 'cat')];
  given(before)
    .when(apply(PAID, annStands({ program })))
    .then(
      euros,
      subscriptionChanged(PAID_SUBSCRIPTION, NOW),
      referralConverted('referral', ANN, { at: NOW }),
    );
});

it.each([29, null])(
  'a first invoice that was refunded in full changes nothing with days of %p',
  (days) => {
    given(converted)
      .when(apply(refunded, within(days)))
      .then();
  },
);
