import { referralCodesProjector } from '../../projections/referral-codes/projector.js';
import { codeOwners, type ReferralCodeRow } from '../../projections/referral-codes/table.js';
import {
  anAccount,
  erasureCompleted,
  erasureRequested,
  forgotten,
  partyOf,
  referralCodeAssigned,
  userIdentified,
  userProfileChanged,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const ANN = partyOf(ACME, 'ann');
const BOB = partyOf(ACME, 'bob');

const code = (text: string, over: Partial<ReferralCodeRow> = {}): ReferralCodeRow => ({
  tenant: 'demo',
  mode: 'live',
  code_key: text.toLowerCase(),
  code: text,
  account_ref: ACME.accountRef,
  person: ANN.person,
  program_id: 'default',
  date_created: 10,
  ...over,
});

const owner = rowsOf(codeOwners, {
  person: ANN.person,
  account_ref: ACME.accountRef,
  blocked: false,
  first_name: 'Ann',
  last_name: 'Lee',
});

const annIdentified = userIdentified(ACME, 'ann', { firstName: 'Ann', lastName: 'Lee' });

describeProjector(referralCodesProjector, (given) => {
  test('every code that a user ever had leads to the user', () =>
    given(
      ACME,
      annIdentified,
      referralCodeAssigned(ACME, 'ann', 'AnnLee', 10),
      referralCodeAssigned(ACME, 'ann', 'VIP', 20, 'vip'),
    ).then({
      referral_codes: [code('AnnLee'), code('VIP', { program_id: 'vip', date_created: 20 })],
      code_owners: [owner()],
    }));

  test('an own code that is given again has its last spelling and its first date', () =>
    given(
      ACME,
      referralCodeAssigned(ACME, 'ann', 'AnnLee', 10),
      referralCodeAssigned(ACME, 'ann', 'ANNLEE', 30),
    ).then({
      referral_codes: [code('ANNLEE')],
    }));

  test("a code that goes to another user starts with that user's date", () =>
    given(
      ACME,
      referralCodeAssigned(ACME, 'ann', 'LEE', 10),
      referralCodeAssigned(ACME, 'bob', 'lee', 30),
    ).then({
      referral_codes: [code('lee', { person: BOB.person, date_created: 30 })],
    }));

  test('a name stays when a change omits it, and null clears it', async () => {
    const changed = (changes: { firstName?: null; lastName?: null }) =>
      given(ACME, annIdentified, userProfileChanged(ACME, 'ann', { locale: 'de', ...changes }));
    await changed({ lastName: null }).then({ code_owners: [owner({ last_name: null })] });
    await changed({ firstName: null }).then({ code_owners: [owner({ first_name: null })] });
  });

  test('an owner is blocked until unblocked', async () => {
    const blocked = given(ACME, annIdentified, { type: 'UserBlocked', at: 40, person: ANN.person });
    await blocked.then({ code_owners: [owner({ blocked: true })] });
    await blocked
      .and(ACME, { type: 'UserUnblocked', at: 50, person: ANN.person })
      .then({ code_owners: [owner()] });
  });

  test('a person whose key is destroyed has neither code nor row, and their events are skipped', () =>
    given(
      ACME,
      { type: 'UserIdentified', at: 1, person: ANN.person, profile: forgotten(ANN.person) },
      { type: 'UserProfileChanged', at: 2, person: ANN.person, changes: forgotten(ANN.person) },
      {
        type: 'ReferralCodeAssigned',
        at: 3,
        person: ANN.person,
        code: forgotten(ANN.person),
        programId: 'default',
      },
      { type: 'UserBlocked', at: 4, person: ANN.person },
      { type: 'UserUnblocked', at: 5, person: ANN.person },
    ).then({}));

  test("a forgotten owner's codes are removed, at either event of the erasure, and other codes stay", async () => {
    const assigned = given(
      ACME,
      annIdentified,
      referralCodeAssigned(ACME, 'ann', 'ONE'),
      referralCodeAssigned(ACME, 'ann', 'TWO'),
      referralCodeAssigned(ACME, 'bob', 'BOB', 10),
    );
    const left = { referral_codes: [code('BOB', { person: BOB.person })] };
    await assigned.and(ACME, erasureRequested([ANN.person])).then(left);
    await assigned.and(ACME, erasureCompleted([ANN.person])).then(left);
  });
});
