import { accountFacts, rewardFacts, userFacts } from '../../src/domain/account/account.facts.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { automaticRedemptionId } from '../../src/domain/account/rewards/rewards.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  creditRedeemed,
  discount,
  erasureCompleted,
  erasureRequested,
  personOf,
  referralCodeAssigned,
  referralConverted,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  tankCode,
  userIdentified,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { ACME, ANN, BOB, fold, opened, given, NOW } from './support/account-scenario.js';
import type { ReservedValue } from '../../src/domain/account/referral/lapse-reservation.js';

const HERE = [accountOpened(ACME), userIdentified(ACME, 'bob', { firstName: 'Bob' }, 40)];
const stateOf = (...events: readonly AccountEvent[]) => opened(fold([...HERE, ...events]));
const REFERRED = [
  accountAttributed('ANNLEE', ANN),
  referralStarted('referral', BOB, ANN, { at: 50 }),
];

it('an account has its id, its currency, and a trial until a subscription is recorded', () => {
  expect(accountFacts(stateOf())).toStrictEqual({
    accountId: 'acme',
    currency: 'USD',
    subscription: { status: 'TRIAL' },
    referralCode: null,
  });
  expect(accountFacts(stateOf(subscriptionChanged({ status: 'FREE' })))).toMatchObject({
    subscription: { status: 'FREE' },
  });
});

it('an account names the code that referred it', () => {
  expect(accountFacts(stateOf(...REFERRED))).toMatchObject({ referralCode: 'ANNLEE' });
});

const factsOf = (...events: readonly AccountEvent[]) =>
  userFacts(stateOf(...events), ACME.accountRef, BOB.person);

it.each(['constructor', '__proto__'])('a user has its code of the program %s', (programId) => {
  const code = referralCodeAssigned(ACME, 'bob', 'BOB', 60, programId);
  expect(JSON.stringify(factsOf(code)?.referralCodes)).toBe(`{"${programId}":"BOB"}`);
});

it('a user has its profile, its codes, and the provider’s id of its account', () => {
  expect(
    factsOf(referralCodeAssigned(ACME, 'bob', 'BOB'), paymentProviderIdSet(ACME, 'cus_1')),
  ).toMatchObject({
    accountRef: ACME.accountRef,
    person: BOB.person,
    accountId: 'acme',
    userId: 'bob',
    firstName: 'Bob',
    email: 'bob@example.com',
    dateCreated: 40,
    dateBlocked: null,
    referralCodes: { default: 'BOB' },
    paymentProviderId: 'cus_1',
    referredBy: null,
  });
  expect(factsOf()).not.toHaveProperty('id');
});

it('a referred user has the code and whether the referral was converted', () => {
  expect(factsOf(...REFERRED)).toMatchObject({
    referredBy: { code: 'ANNLEE', isConverted: false },
  });
  expect(factsOf(...REFERRED, referralConverted('referral', ANN))).toMatchObject({
    referredBy: { code: 'ANNLEE', isConverted: true },
  });
  const other = [...REFERRED, userIdentified(ACME, 'eve')];
  const eve = personOf(ACME, 'eve');
  expect(userFacts(stateOf(...other), ACME.accountRef, eve)).toMatchObject({ referredBy: null });
});

it('an unknown or forgotten user has no facts', () => {
  expect(userFacts(stateOf(), ACME.accountRef, 'missing')).toBeUndefined();
  expect(factsOf(erasureRequested([BOB.person]), erasureCompleted([BOB.person]))).toBeUndefined();
});

const NONE = {
  currency: null,
  discountPercent: null,
  monthsDiscountIsValid: null,
  assignedCredit: null,
  redeemedCredit: null,
  redemptions: null,
  amount: null,
  fuelTankCode: null,
  fuelTankType: null,
  pushState: null,
  pushReason: null,
  externalReference: null,
};
const rewardFactsOf = (granted: ReturnType<typeof rewardGranted>, ...events: AccountEvent[]) => {
  const state = stateOf(granted, ...events);
  const reward = state.rewards.get(granted.rewardId);
  return reward && rewardFacts(state, ACME.accountRef, reward);
};

it('a reward of credit has what was assigned and redeemed, and no redemption of clients', () => {
  const value = { ...credit(500), currency: 'EUR' } as const;
  const granted = rewardGranted('w1', BOB, value);
  expect(rewardFactsOf(granted, creditRedeemed(granted, 'r1', 200, 3_000))).toMatchObject({
    ...NONE,
    rewardId: 'w1',
    accountRef: ACME.accountRef,
    accountId: 'acme',
    userId: 'bob',
    type: 'CREDIT',
    unit: 'CENTS',
    currency: 'EUR',
    assignedCredit: 500,
    redeemedCredit: 200,
    redemptions: [],
  });
});

it.each([
  ['immediately', null, 2_100],
  ['on its date', 7_000, 7_000],
])(
  'a reward that redeems itself %s has that redemption',
  (_name, dateScheduledFor, dateRedeemed) => {
    const granted = rewardGranted('w1', BOB, credit(500), {
      redeemsAutomatically: true,
      dateScheduledFor,
    });
    expect(rewardFactsOf(granted)).toMatchObject({ redemptions: [] });
    expect(rewardFactsOf(granted, creditRedeemed(granted, 'r1', 500, 8_000))).toMatchObject({
      redemptions: [{ id: automaticRedemptionId('w1'), dateRedeemed, quantityRedeemed: 500 }],
    });
  },
);

it('a reward of a discount or a tank has their members', () => {
  const months = { ...discount(10), monthsDiscountIsValid: 3 } as const;
  expect(rewardFactsOf(rewardGranted('w1', BOB, months))).toMatchObject({
    ...NONE,
    type: 'PCT_DISCOUNT',
    unit: '%',
    discountPercent: 10,
    monthsDiscountIsValid: 3,
  });
  expect(rewardFactsOf(rewardGranted('w1', BOB, tankCode('CODE-1')))).toMatchObject({
    ...NONE,
    type: 'FUELTANK',
    unit: null,
    amount: 5,
    fuelTankCode: 'CODE-1',
    fuelTankType: 'CREDIT',
  });
});

const CAT = personOf(ACME, 'cat');
const lapse = (what: ReservedValue) => ({ type: 'LapseReservation', what, now: NOW }) as const;
const code = (key: string, person: string) => lapse({ kind: 'referral-code', key, person });
const lapsed = (kind: ReservedValue['kind'], holder: string | null): AccountEvent => ({
  type: 'ReservationLapsed',
  at: NOW,
  kind,
  holder,
});
const bobAndCat = [accountOpened(ACME), userIdentified(ACME, 'bob'), userIdentified(ACME, 'cat')];
const forgotten = (account: string | null) => erasureRequested([BOB.person], { account });

const bobs = referralCodeAssigned(ACME, 'bob', 'LUCKY');

it('the reservation of a code lapses unless its own person has the code, in any spelling', () => {
  given(bobAndCat).when(code('LUCKY', BOB.person)).then(lapsed('referral-code', BOB.person));
  given(bobAndCat, bobs).when(code('lucky', BOB.person)).then();
  given(bobAndCat, bobs).when(code('LUCKY', CAT)).then(lapsed('referral-code', CAT));
});

it('the reservation of a code of a forgotten person never lapses', () => {
  given(bobAndCat, forgotten(null)).when(code('LUCKY', BOB.person)).then();
  given(bobAndCat, forgotten(ACME.accountRef)).when(code('LUCKY', BOB.person)).then();
});

it('the reservation of a code lapses where there is no such account or person', () => {
  given().when(code('LUCKY', BOB.person)).then(lapsed('referral-code', BOB.person));
  given(accountOpened(ACME))
    .when(code('LUCKY', BOB.person))
    .then(lapsed('referral-code', BOB.person));
});

it('the reservation of a payment provider id lapses unless the account has that id', () => {
  const own = paymentProviderIdSet(ACME, 'cus_1');
  const id = (key: string) => lapse({ kind: 'payment-provider-id', key, person: null });
  given(accountOpened(ACME), own).when(id('cus_1')).then();
  given(accountOpened(ACME), own).when(id('cus_2')).then(lapsed('payment-provider-id', null));
  given(accountOpened(ACME)).when(id('cus_1')).then(lapsed('payment-provider-id', null));
});

it('the reservation of a tank code lapses unless its reward has it, also that of a deleted account', () => {
  const granted = rewardGranted('reward', BOB, tankCode('TANK-1'));
  const tank = (rewardId: string) => lapse({ kind: 'tank-code', code: 'TANK-1', rewardId });
  given(bobAndCat, granted).when(tank('reward')).then();
  given(bobAndCat, granted).when(tank('other')).then(lapsed('tank-code', null));
  given(bobAndCat, granted, forgotten(ACME.accountRef)).when(tank('reward')).then();
});
