import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { Reserved } from '../../src/domain/account/referral/lapse-reservation.js';
import {
  accountOpened,
  personOf,
  referralCodeAssigned,
  rewardGranted,
  tankCode,
  userIdentified,
  erasureRequested,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { ACME, BOB, given, NOW } from './support/account-scenario.js';

const CAT = personOf(ACME, 'cat');
const lapse = (what: Reserved) => ({ type: 'LapseReservation', what, now: NOW }) as const;
const code = (key: string, person: string) => lapse({ kind: 'referral-code', key, person });
const lapsed = (kind: Reserved['kind'], holder: string | null): AccountEvent => ({
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
