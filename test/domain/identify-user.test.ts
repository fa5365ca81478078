import {
  USERS_MAX,
  type ProfileChanges,
  type UpsertUser,
} from '../../src/domain/account/users/identify-user.js';
import type { Profile } from '../../src/domain/account/account.events.js';
import {
  accountOpened,
  personOf,
  referralCodeAssigned,
  userIdentified,
  userProfileChanged,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { ACME, given, noCode, NOW } from './support/account-scenario.js';

const EMPTY: Partial<Profile> = { email: null };

const upsert = (
  userId: string,
  changes: ProfileChanges = {},
  over: Partial<UpsertUser> = {},
): UpsertUser => ({
  type: 'UpsertUser',
  userId,
  newPerson: personOf(ACME, userId),
  changes,
  codes: [],
  paymentProviderId: undefined,
  context: noCode(),
  ...over,
});

const here = accountOpened(ACME);

it('a new user needs the account', () => {
  given().when(upsert('bob')).refused('ACCOUNT_NOT_FOUND');
});

it('a new user starts with nothing but the id, referable, and opens its account where it may, on trial', () => {
  const openAccount = { accountId: 'acme', newAccount: ACME.accountRef };
  given()
    .when(upsert('bob', {}, { openAccount }))
    .then(
      accountOpened(ACME, { at: NOW }),
      { type: 'SubscriptionChanged', at: NOW, subscription: { status: 'TRIAL' } },
      userIdentified(ACME, 'bob', EMPTY, NOW),
    );
  given(here)
    .when(upsert('bob', {}, { openAccount }))
    .then(userIdentified(ACME, 'bob', EMPTY, NOW));
});

it('a new user that must be new is refused when it is there', () => {
  given(here)
    .when(upsert('bob', {}, { mustBeNew: true }))
    .then(userIdentified(ACME, 'bob', EMPTY, NOW));
  given(here, userIdentified(ACME, 'bob'))
    .when(upsert('bob', {}, { mustBeNew: true }))
    .refused('USER_EXISTS');
});

it('a new user gets the codes that were reserved', () => {
  const codes = [
    { code: 'BOB', programId: 'default' },
    { code: 'BOB2', programId: 'partners' },
  ];
  given(here)
    .when(upsert('bob', {}, { codes }))
    .then(
      userIdentified(ACME, 'bob', EMPTY, NOW),
      referralCodeAssigned(ACME, 'bob', 'BOB', NOW),
      referralCodeAssigned(ACME, 'bob', 'BOB2', NOW, 'partners'),
    );
});

it(`a new user is refused beyond ${USERS_MAX} users, while those who are there can still be changed`, () => {
  const users = Array.from({ length: USERS_MAX }, (_, index) =>
    userIdentified(ACME, `user-${index}`),
  );
  given(here, users).when(upsert('one-more')).refused('TOO_MANY_USERS');
  given(here, users.slice(1))
    .when(upsert('one-more'))
    .then(userIdentified(ACME, 'one-more', EMPTY, NOW));
  given(here, users)
    .when(upsert('user-5', { firstName: 'Five' }))
    .then(userProfileChanged(ACME, 'user-5', { firstName: 'Five' }, NOW));
});

const bob = userIdentified(ACME, 'bob', {
  firstName: 'Bob',
  customFields: { plan: 'gold', seats: 3 },
  segments: ['a', 'b'],
});

it('an existing user records the members that changed and no others', () => {
  given(here, bob)
    .when(upsert('bob', { firstName: 'Robert', email: 'bob@example.com' }))
    .then(userProfileChanged(ACME, 'bob', { firstName: 'Robert' }, NOW));
});

it('an existing user records nothing when nothing changed', () => {
  given(here, bob)
    .when(upsert('bob', { firstName: 'Bob', customFields: { plan: 'gold' }, segments: ['a'] }))
    .then();
});

it('an existing user loses members that are null', () => {
  given(here, bob)
    .when(upsert('bob', { firstName: null }))
    .then(userProfileChanged(ACME, 'bob', { firstName: null }, NOW));
});

it('an existing user is referable again when referable is null', () => {
  given(here, userIdentified(ACME, 'bob', { referable: false }))
    .when(upsert('bob', { referable: null }))
    .then(userProfileChanged(ACME, 'bob', { referable: true }, NOW));
});

it('an existing user merges custom fields, null removes one', () => {
  given(here, bob)
    .when(upsert('bob', { customFields: { seats: null, trial: true, plan: 'silver' } }))
    .then(userProfileChanged(ACME, 'bob', { customFields: { plan: 'silver', trial: true } }, NOW));
});

it('an existing user accepts a custom field of any name', () => {
  const changes = {
    customFields: JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, number>,
  };
  const { decision } = given(here, bob).when(upsert('bob', changes));
  expect(JSON.stringify(decision)).toContain(
    '{"plan":"gold","seats":3,"__proto__":1,"constructor":2}',
  );
});

it.each([
  [
    ['c', '~a'],
    ['b', 'c'],
  ],
  [['~*', 'x'], ['x']],
  [['x', '~*'], []],
  [
    ['a', 'a', 'c', 'c'],
    ['a', 'b', 'c'],
  ],
  [
    ['~missing', 'c'],
    ['a', 'b', 'c'],
  ],
])('an existing user applies the operations on segments %j in order', (segments, expected) => {
  given(here, bob)
    .when(upsert('bob', { segments }))
    .then(userProfileChanged(ACME, 'bob', { segments: expected }, NOW));
});

it('an existing user makes an old code primary again, in the spelling that was sent', () => {
  const codes = [
    referralCodeAssigned(ACME, 'bob', 'BOB'),
    referralCodeAssigned(ACME, 'bob', 'BOBBY'),
  ];
  const scenario = given(here, bob, codes);
  scenario
    .when(upsert('bob', {}, { codes: [{ code: 'bob', programId: 'default' }] }))
    .then(referralCodeAssigned(ACME, 'bob', 'bob', NOW));
  scenario.when(upsert('bob', {}, { codes: [{ code: 'BOBBY', programId: 'default' }] })).then();
});

it('an existing user keeps every code it ever had', () => {
  const { state } = given(
    here,
    bob,
    referralCodeAssigned(ACME, 'bob', 'BOB'),
    referralCodeAssigned(ACME, 'bob', 'bobby'),
  );
  const user = state.status === 'open' ? state.users.get(personOf(ACME, 'bob')) : undefined;
  expect([...(user?.codes.keys() ?? [])].sort()).toEqual(['bob', 'bobby']);
  expect(user?.primaryCodes.toObject()).toEqual({ default: 'bobby' });
});

it('the payment provider id belongs to the account and is set once', () => {
  given(here, userIdentified(ACME, 'bob'))
    .when(upsert('bob', {}, { paymentProviderId: 'cus_1' }))
    .then(paymentProviderIdSet(ACME, 'cus_1', NOW));
});

it('the payment provider id may be sent again, by any user, but not changed', () => {
  const events = [
    here,
    userIdentified(ACME, 'bob'),
    userIdentified(ACME, 'cat'),
    paymentProviderIdSet(ACME, 'cus_1'),
  ];
  given(events)
    .when(upsert('cat', {}, { paymentProviderId: 'cus_1' }))
    .then();
  given(events)
    .when(upsert('bob', {}, { paymentProviderId: 'cus_2' }))
    .refused('PAYMENT_PROVIDER_ID_SET');
});
