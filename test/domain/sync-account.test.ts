import { personal } from '../../src/domain/personal.js';
import type { AccountEvent, Subscription } from '../../src/domain/account/account.events.js';
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
import { PAID, syncAccount, TRIAL } from './support/commands.js';

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
