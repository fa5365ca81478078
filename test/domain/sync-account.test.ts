import { personal } from '../../src/domain/personal.js';
import type { ReferralContext } from '../../src/domain/account/referral.js';
import type { SyncAccount } from '../../src/domain/account/sync-account.js';
import type { Subscription } from '../../src/domain/account/account.events.js';
import {
  accountAttributed,
  accountOpened,
  partyOf,
  personOf,
  subscriptionChanged,
  userIdentified,
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
} from './support/account-scenario.js';

const NEW_ACCOUNT = personOf(ACME, 'the account itself');
const TRIAL: Subscription = { status: 'TRIAL' };
const PAID: Subscription = {
  status: 'PAID',
  value: 9.99,
  billingIntervalType: 'MONTH',
  billingIntervalValue: 1,
};

const sync = (
  subscription: Subscription,
  context: ReferralContext = noCode(),
  currency?: string,
): SyncAccount => ({
  type: 'SyncAccount',
  accountId: 'acme',
  newAccount: NEW_ACCOUNT,
  subscription,
  currency,
  context,
});

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
    .when(sync(TRIAL, annsCode()))
    .then(openedNow('USD'), accountAttributed('ANNLEE', ANN, NOW), subscriptionChanged(TRIAL, NOW));
});

it('a new account is attributed before it is paid when one call does both', () => {
  given()
    .when(sync(PAID, annsCode()))
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
    .when(sync(TRIAL, annsCode()))
    .then(accountAttributed('ANNLEE', ANN, NOW));
});

describe('a code in the body is ignored', () => {
  const here = [accountOpened(ACME), subscriptionChanged(TRIAL)];

  it('when it has no owner; a later valid one still counts', () => {
    given(here).when(sync(TRIAL, noCode())).then();
    given(here)
      .when(sync(TRIAL, annsCode()))
      .then(accountAttributed('ANNLEE', ANN, NOW));
  });

  it('when it is the account’s own', () => {
    const own = aCode('BOB', partyOf(ACME, 'bob'));
    given(here, userIdentified(ACME, 'bob'))
      .when(sync(TRIAL, annsCode({ codeOwner: own })))
      .then();
  });

  it('when the account has ever paid', () => {
    const free: Subscription = { status: 'FREE' };
    given(here, subscriptionChanged(PAID), subscriptionChanged(free))
      .when(sync(free, annsCode()))
      .then();
  });

  it('when its owner is deleted', () => {
    given(here)
      .when(sync(TRIAL, annsCode({ referrer: null })))
      .then();
  });

  it('without an effect on the rest of the call', () => {
    given(here, subscriptionChanged(PAID))
      .when(sync({ status: 'FREE' }, annsCode()))
      .then(subscriptionChanged({ status: 'FREE' }, NOW));
  });
});

it('an attributed account without a user stays without a referral, paid or not', () => {
  given(accountOpened(ACME), accountAttributed('ANNLEE', ANN))
    .when(sync(PAID, annStands()))
    .then(subscriptionChanged(PAID, NOW));
});
