import { personal } from '../../src/domain/personal.js';
import type { AccountEvent, Subscription } from '../../src/domain/account/account.events.js';
import {
  accountAttributed,
  accountOpened,
  partyOf,
  personOf,
  subscriptionChanged,
  userIdentified,
  discount,
  referralConverted,
  referralStarted,
  rewardCancelled,
  rewardGranted,
} from '../support/account-events.js';
import {
  aCode,
  ACME,
  ANN,
  annsCode,
  annStands,
  given,
  noCode,
  NOW,
  aProgram,
  BOB,
  DAY_MS,
  TEN_DOLLARS,
} from './support/account-scenario.js';
import { PAID, syncAccount, TRIAL, NO_PICTURE } from './support/commands.js';
import type { CompleteCommand } from './support/decisions.js';
import type { CustomerSummary } from '../../src/domain/customer/customer.state.js';

const NEW_ACCOUNT = personOf(ACME, 'the account itself');
const sync = (subscription: Subscription, context = noCode(), currency?: string) =>
  syncAccount(subscription, { newAccount: NEW_ACCOUNT, currency, context });

const CODE = annsCode();
const openedNow = (currency: string) =>
  accountOpened(ACME, {
    at: NOW,
    account: NEW_ACCOUNT,
    accountId: personal(NEW_ACCOUNT, 'acme'),
    currency,
  });

it('a new account is opened in US dollars by default', () => {
  given().when(sync(TRIAL)).then(openedNow('USD'), subscriptionChanged(TRIAL, NOW));
});

it('a new account is opened in the given currency, which is not a change of currency', () => {
  given()
    .when(sync(PAID, noCode(), 'EUR'))
    .then(openedNow('EUR'), subscriptionChanged(PAID, NOW));
});

it('a new account shows its code before it has a user', () => {
  given()
    .when(sync(TRIAL, CODE))
    .then(openedNow('USD'), accountAttributed('ANNLEE', ANN, NOW), subscriptionChanged(TRIAL, NOW));
});

it('a new account is attributed before it is paid when one call does both', () => {
  given()
    .when(sync(PAID, CODE))
    .then(openedNow('USD'), accountAttributed('ANNLEE', ANN, NOW), subscriptionChanged(PAID, NOW));
});

const here = [accountOpened(ACME), subscriptionChanged(TRIAL)];

it('an existing account records nothing when nothing changed', () => {
  given(here).when(sync(TRIAL)).then();
  given(here)
    .when(sync({ status: 'TRIAL' }, noCode(), 'USD'))
    .then();
});

it('an existing account replaces the subscription as a whole, without the omitted members', () => {
  given(here, subscriptionChanged(PAID))
    .when(sync({ status: 'PAID' }))
    .then(subscriptionChanged({ status: 'PAID' }, NOW));
});

it.each<[string, Subscription]>([
  ['status', { ...PAID, status: 'FREE' }],
  ['value', { ...PAID, value: 10 }],
  ['billingIntervalType', { ...PAID, billingIntervalType: 'YEAR' }],
  ['billingIntervalValue', { ...PAID, billingIntervalValue: 2 }],
])('an existing account notices a change of %s', (_, subscription) => {
  given(here, subscriptionChanged(PAID))
    .when(sync(subscription))
    .then(subscriptionChanged(subscription, NOW));
});

it('an existing account keeps its currency when none is given, and changes it when another one is', () => {
  given(here)
    .when(sync(TRIAL, noCode(), 'EUR'))
    .then({ type: 'CurrencyChanged', at: NOW, currency: 'EUR' });
});

it('an existing account may be attributed later, while it has not paid', () => {
  given(here)
    .when(sync(TRIAL, CODE))
    .then(accountAttributed('ANNLEE', ANN, NOW));
});

const has = (...events: readonly AccountEvent[]) => [...here, ...events];
const own = aCode('BOB', partyOf(ACME, 'bob'));
it.each([
  ['without an owner', here, noCode()],
  ['of the account itself', has(userIdentified(ACME, 'bob')), annsCode({ codeOwner: own })],
  ['of a deleted owner', here, annsCode({ referrer: null })],
  ['for an account that has ever paid', has(subscriptionChanged(PAID), here[1]!), CODE],
])('a code %s is ignored in the body, and the rest of the call is not', (_, events, context) => {
  given(events).when(sync(TRIAL, context)).then();
  given(events)
    .when(sync({ status: 'FREE' }, context))
    .then(subscriptionChanged({ status: 'FREE' }, NOW));
});

it('an attributed account without a user stays without a referral, paid or not', () => {
  given(accountOpened(ACME), accountAttributed('ANNLEE', ANN))
    .when(sync(PAID, annStands()))
    .then(subscriptionChanged(PAID, NOW));
});

const INVOICE = {
  created: NOW - DAY_MS,
  amountPaid: 1999,
  currency: 'EUR',
  interval: { type: 'MONTH', value: 3 },
} as const;
const PAYING: CustomerSummary = {
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
  picture: CustomerSummary,
  context: Extract<CompleteCommand, { type: 'ApplyCustomer' }>['context'] = noCode(),
): CompleteCommand => ({ type: 'ApplyCustomer', picture, context });

const euros: AccountEvent = { type: 'CurrencyChanged', at: NOW, currency: 'EUR' };
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
    .when(apply(PAYING, annStands()))
    .then(euros, subscriptionChanged(PAID_SUBSCRIPTION, NOW), CONVERTED);
});

it.each([
  ['USD', 10],
  ['JPY', 1000],
  ['KWD', 1],
])('an amount of 1000 in %s is %d', (currency, value) => {
  const newest = { ...INVOICE, currency, amountPaid: 1000, interval: null };
  given(accountOpened(ACME), { type: 'CurrencyChanged', at: NOW, currency })
    .when(apply({ ...PAYING, newestPaid: newest }))
    .then(subscriptionChanged({ status: 'PAID', value }, NOW));
});

it('a provider state that the account matches changes nothing', () => {
  given(accountOpened(ACME), euros, subscriptionChanged(PAID_SUBSCRIPTION))
    .when(apply(PAYING))
    .then();
});

it('a later invoice changes the subscription, and the currency if it is another one', () => {
  const newest = { ...INVOICE, created: NOW, amountPaid: 2999, interval: null };
  const paid = [accountOpened(ACME), euros, subscriptionChanged(PAID_SUBSCRIPTION)];
  given(paid)
    .when(apply({ ...PAYING, newestPaid: newest }))
    .then(subscriptionChanged({ status: 'PAID', value: 29.99 }, NOW));
  given(paid)
    .when(apply({ ...PAYING, newestPaid: { ...newest, currency: 'USD' } }))
    .then(
      { type: 'CurrencyChanged', at: NOW, currency: 'USD' },
      subscriptionChanged({ status: 'PAID', value: 29.99 }, NOW),
    );
});

it('a customer that has paid and is on trial again keeps what it converted', () => {
  given(accountOpened(ACME), euros, subscriptionChanged(PAID_SUBSCRIPTION))
    .when(apply({ ...PAYING, status: 'TRIAL' }))
    .then(subscriptionChanged({ status: 'TRIAL' }, NOW));
});

it('an absent account follows no customer', () => {
  given().when(apply(PAYING)).then();
  given().when({ type: 'CancelRefundedRewards', referralId: 'referral', now: NOW }).then();
});

it('a paid invoice converts, though the customer has ended since', () => {
  given(REFERRED)
    .when(apply({ ...PAYING, status: 'CANCELLED' }, annStands()))
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
    .when(apply(PAYING, annStands({ program })))
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
const refunded = { ...PAYING, refundedAt: INVOICE.created + 30 * DAY_MS };
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
    .when(apply(PAYING, annStands({ program })))
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
