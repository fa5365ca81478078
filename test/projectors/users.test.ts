import { usersProjector } from '../../projections/users/projector.js';
import { users, userAccounts } from '../../projections/users/table.js';
import {
  accountOpened,
  anAccount,
  aProfile,
  erasureCompleted,
  erasureRequested,
  forgotten,
  partyOf,
  referralCodeAssigned,
  referralConverted,
  referralStarted,
  userIdentified,
  userProfileChanged,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const SHOP = anAccount('shop');
const ANN = partyOf(ACME, 'ann');
const EVE = partyOf(SHOP, 'eve');

const user = rowsOf(users, {
  person: ANN.person,
  account_ref: ACME.accountRef,
  user_id: 'ann',
  email: 'ann@example.com',
  searched: 'ann@example.com\u001f\u001fann',
  profile: aProfile('ann'),
  primary_codes: {},
  date_created: 1_200,
  date_changed: 1_200,
});

const account = rowsOf(userAccounts, {
  account_ref: ACME.accountRef,
  account_id: 'acme',
  is_converted: false,
});

const counted = (users: number) => [{ tenant: 'demo', mode: 'live', users }];

describeProjector(usersProjector, (given) => {
  test('a user is found by e-mail address, full name and id', () =>
    given(ACME, userIdentified(ACME, 'ann', { firstName: 'Ann', lastName: 'Lee' })).then({
      users: [
        user({
          first_name: 'Ann',
          last_name: 'Lee',
          searched: 'ann@example.com\u001fann lee\u001fann',
          profile: aProfile('ann', { firstName: 'Ann', lastName: 'Lee' }),
        }),
      ],
      user_counts: counted(1),
    }));

  test('a changed profile replaces the members that it names', () =>
    given(
      ACME,
      userIdentified(ACME, 'ann', {
        firstName: 'Ann',
        customFields: { plan: 'pro' },
        segments: ['a'],
      }),
      userProfileChanged(ACME, 'ann', { lastName: 'Lee', email: null, segments: ['b'] }),
    ).then({
      users: [
        user({
          email: null,
          first_name: 'Ann',
          last_name: 'Lee',
          searched: '\u001fann lee\u001fann',
          profile: aProfile('ann', {
            firstName: 'Ann',
            lastName: 'Lee',
            email: null,
            customFields: { plan: 'pro' },
            segments: ['b'],
          }),
          date_changed: 1_300,
        }),
      ],
      user_counts: counted(1),
    }));

  test('a user shows the last code of each program', () =>
    given(
      ACME,
      userIdentified(ACME, 'ann'),
      referralCodeAssigned(ACME, 'ann', 'OLD'),
      referralCodeAssigned(ACME, 'ann', 'NEW'),
      referralCodeAssigned(ACME, 'ann', 'VIP', 1_450, 'vip'),
    ).then({
      users: [user({ primary_codes: { default: 'NEW', vip: 'VIP' }, date_changed: 1_450 })],
      user_counts: counted(1),
    }));

  test('a user is blocked until unblocked', async () => {
    const { person } = ANN;
    const blocked = given(ACME, userIdentified(ACME, 'ann'), {
      type: 'UserBlocked',
      at: 1_600,
      person,
    });
    await blocked.then({
      users: [user({ date_blocked: 1_600, date_changed: 1_600 })],
      user_counts: counted(1),
    });
    await blocked
      .and(ACME, { type: 'UserUnblocked', at: 1_700, person })
      .then({ users: [user({ date_changed: 1_700 })], user_counts: counted(1) });
  });

  test('the users of an account share its provider id and its referral', async () => {
    const started = given(
      ACME,
      accountOpened(ACME),
      paymentProviderIdSet(ACME, 'cus_1'),
      referralStarted('r1', ANN, EVE),
    );
    const referred = {
      payment_provider_id: 'cus_1',
      referred_person: ANN.person,
      referred_by_code: 'CODE',
      referred_by_person: EVE.person,
    };
    await started.then({ user_accounts: [account(referred)] });
    await started
      .and(ACME, referralConverted('r1', EVE))
      .then({ user_accounts: [account({ ...referred, is_converted: true })] });
  });

  test('a person whose key is destroyed has no row, and their events are skipped', () => {
    const { person } = ANN;
    return given(
      ACME,
      { type: 'UserIdentified', at: 1, person, profile: forgotten(person) },
      { type: 'UserProfileChanged', at: 2, person, changes: forgotten(person) },
      {
        type: 'ReferralCodeAssigned',
        at: 3,
        person,
        code: forgotten(person),
        programId: 'default',
      },
      { type: 'UserBlocked', at: 4, person },
      { type: 'UserUnblocked', at: 5, person },
    ).then({});
  });

  test('a code of a forgotten person changes no row', () =>
    given(ACME, userIdentified(ACME, 'ann'), {
      type: 'ReferralCodeAssigned',
      at: 3,
      person: ANN.person,
      code: forgotten(ANN.person),
      programId: 'default',
    }).then({ users: [user()], user_counts: counted(1) }));

  test('a forgotten user is not counted, at either event of the erasure', async () => {
    const bob = partyOf(ACME, 'bob').person;
    const two = given(ACME, userIdentified(ACME, 'ann'), userIdentified(ACME, 'bob'));
    const left = { users: [user()], user_counts: counted(1) };
    await two.and(ACME, erasureRequested([bob])).then(left);
    await two.and(ACME, erasureCompleted([bob])).then(left);
    await two.and(ACME, erasureRequested([bob]), erasureCompleted([bob])).then(left);
    await two.and(ACME, erasureRequested([ANN.person, bob, 'unknown'])).then({});
  });

  test("a forgotten referrer's code is removed from referred users", async () => {
    const started = given(ACME, accountOpened(ACME), referralStarted('r1', ANN, EVE));
    const left = { user_accounts: [account({ referred_person: ANN.person })] };
    await started.and(SHOP, erasureRequested([EVE.person])).then(left);
    await started.and(SHOP, erasureCompleted([EVE.person])).then(left);
  });

  test('an account that was opened again is not touched by the tombstone', async () => {
    const erased = { account: ACME.accountRef };
    const deleted = given(ACME, accountOpened(ACME), erasureRequested([], erased));
    await deleted.then({});
    await deleted
      .and(ACME, accountOpened(ACME), erasureCompleted([], erased))
      .then({ user_accounts: [account()] });
  });
});
