import {
  accountAttributed,
  accountOpened,
  anAccount,
  aProfile,
  forgotten,
  partyOf,
  personOf,
  referralCodeAssigned,
  referralConverted,
  referralStarted,
  subscriptionChanged,
  userIdentified,
  userProfileChanged,
} from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';

describe('accounts, users and codes, from events to answers', () => {
  let projected: ProjectedLedger;
  const scope = { tenant: 'demo', mode: 'live' } as const;
  const acme = anAccount('acme');
  const other = anAccount('other');

  beforeEach(async () => {
    projected = await ProjectedLedger.open();
    projected.startRunner();
  });
  afterEach(() => projected.close());

  test('an account shows its subscription, currency and the code it came by', async () => {
    const subscription = { status: 'PAID', value: 9.5, billingIntervalType: 'MONTH', billingIntervalValue: 1 } as const;
    await projected.given(acme, accountOpened(acme), { type: 'CurrencyChanged', at: 1_050, currency: 'EUR' });
    await projected.given(acme, accountAttributed('ANN', partyOf(other, 'ann')), subscriptionChanged(subscription));
    expect(await projected.accounts().byRef(scope, acme.accountRef)).toEqual({
      accountId: 'acme',
      currency: 'EUR',
      subscription,
      referralCode: 'ANN',
    });
    expect(await projected.accounts().byRef({ ...scope, mode: 'test' }, acme.accountRef)).toBeUndefined();
    expect(await projected.accounts().byRef({ ...scope, tenant: 'else' }, acme.accountRef)).toBeUndefined();
  });

  test('an account of which nobody said more is on trial, a forgotten one is not there', async () => {
    await projected.given(acme, accountOpened(acme));
    await projected.given(other, accountOpened(other, { accountId: forgotten('x') }), subscriptionChanged({ status: 'FREE' }));
    expect((await projected.accounts().byRef(scope, acme.accountRef))?.subscription).toEqual({ status: 'TRIAL' });
    expect(await projected.accounts().byRef(scope, other.accountRef)).toBeUndefined();
  });

  test('a user shows the merged profile, primary codes, the account provider id and who referred it', async () => {
    const { person } = partyOf(acme, 'ann');
    await projected.given(
      acme,
      accountOpened(acme),
      userIdentified(acme, 'ann', { firstName: 'Ann', customFields: { plan: 'pro' }, segments: ['a'] }, 1_200),
      referralCodeAssigned(acme, 'ann', 'OLD'),
      referralCodeAssigned(acme, 'ann', 'NEW'),
      referralCodeAssigned(acme, 'ann', 'VIP', 1_450, 'vip'),
      { type: 'PaymentProviderIdSet', at: 1_500, paymentProviderId: { subject: 'x', value: 'cus_1' } },
      { type: 'UserBlocked', at: 1_600, person },
      userIdentified(acme, 'bob', {}, 1_700),
      referralStarted('r1', partyOf(acme, 'ann'), partyOf(other, 'eve')),
    );
    await projected.given(
      acme,
      userProfileChanged(acme, 'ann', { lastName: 'Lee', email: null, segments: ['b'] }),
      referralConverted('r1', partyOf(other, 'eve')),
    );
    const { id: _, ...profile } = aProfile('ann', {
      firstName: 'Ann',
      lastName: 'Lee',
      email: null,
      customFields: { plan: 'pro' },
      segments: ['b'],
    });
    expect(await projected.users().byUserId(scope, acme.accountRef, 'ann')).toEqual({
      ...{ accountRef: acme.accountRef, person, accountId: 'acme', userId: 'ann', ...profile },
      ...{ dateCreated: 1_200, dateBlocked: 1_600, referralCodes: { default: 'NEW', vip: 'VIP' }, paymentProviderId: 'cus_1' },
      referredBy: { code: 'CODE', isConverted: true },
    });
    const bob = await projected.users().byUserId(scope, acme.accountRef, 'bob');
    expect(bob).toMatchObject({ userId: 'bob', paymentProviderId: 'cus_1', referredBy: null, dateBlocked: null });
    expect(await projected.users().byUserId({ ...scope, mode: 'test' }, acme.accountRef, 'ann')).toBeUndefined();
    await projected.given(acme, { type: 'UserUnblocked', at: 5_000, person });
    const byPersons = await projected.users().byPersons(scope, [person, personOf(acme, 'bob'), 'nobody']);
    expect([...byPersons.keys()].sort()).toEqual([person, personOf(acme, 'bob')].sort());
    expect(byPersons.get(person)?.dateBlocked).toBeNull();
  });

  test('users are listed newest first, searched in any case and with wildcards meant literally', async () => {
    await projected.given(
      acme,
      accountOpened(acme),
      userIdentified(acme, 'u1', { firstName: 'Ann', lastName: 'Lee', email: 'A_nn@Example.com' }, 100),
      userIdentified(acme, 'u2', { firstName: 'Bob', email: 'bob@100%.org' }, 300),
      userIdentified(acme, 'u3', { lastName: 'Leeds', email: null }, 200),
    );
    const found = async (query: string) => {
      const page = await projected.users().list(scope, { query, limit: 10, offset: 0 });
      expect(page.totalCount).toBe(page.items.length);
      return page.items.map((user) => user.userId);
    };
    expect(await found('')).toEqual(['u2', 'u3', 'u1']);
    expect(await found('LEE')).toEqual(['u3', 'u1']);
    expect(await found('ann lee')).toEqual(['u1']);
    expect(await found('a_nn')).toEqual(['u1']);
    expect(await found('0%')).toEqual(['u2']);
    expect(await found('U3')).toEqual(['u3']);
    expect(await found('%')).toEqual(['u2']);
    expect(await found('lee\\')).toEqual([]);
    const page = await projected.users().list(scope, { limit: 1, offset: 1 });
    expect(page.totalCount).toBe(3);
    expect(page.items.map((user) => user.userId)).toEqual(['u3']);
    expect(await projected.users().list(scope, { limit: 0, offset: 0 })).toEqual({ totalCount: 3, items: [] });
    expect(await projected.users().list({ ...scope, mode: 'test' }, { limit: 10, offset: 0 })).toEqual({ totalCount: 0, items: [] });
  });

  test('a forgotten person has no row, and events about it are passed over', async () => {
    const person = personOf(acme, 'ann');
    await projected.given(
      acme,
      accountOpened(acme),
      { type: 'UserIdentified', at: 1, person, profile: forgotten(person) },
      { type: 'UserProfileChanged', at: 2, person, changes: forgotten(person) },
      { type: 'ReferralCodeAssigned', at: 3, person, code: forgotten(person), programId: 'default' },
      { type: 'UserBlocked', at: 4, person },
      { type: 'UserUnblocked', at: 5, person },
    );
    expect(await projected.users().list(scope, { limit: 10, offset: 0 })).toEqual({ totalCount: 0, items: [] });
    expect((await projected.pool.query('select 1 from ledger.parked_streams')).rowCount).toBe(0);
  });

  test('a code is found in any case, old ones too, with its owner', async () => {
    const person = personOf(acme, 'ann');
    await projected.given(
      acme,
      userIdentified(acme, 'ann', { firstName: 'Ann', lastName: 'Lee' }),
      referralCodeAssigned(acme, 'ann', 'AnnLee', 10),
      referralCodeAssigned(acme, 'ann', 'NEW', 20),
      referralCodeAssigned(acme, 'ann', 'ANNLEE', 30),
      userProfileChanged(acme, 'ann', { lastName: null }),
      { type: 'UserBlocked', at: 40, person },
    );
    const owner = {
      accountRef: acme.accountRef,
      person,
      ownerBlocked: true,
      ownerFirstName: 'Ann',
      ownerLastName: null,
      programId: 'default',
    };
    expect(await projected.codes().byCode(scope, 'annlee')).toEqual({ code: 'ANNLEE', dateCreated: 10, ...owner });
    expect(await projected.codes().byCode(scope, 'new')).toEqual({ code: 'NEW', dateCreated: 20, ...owner });
    expect(await projected.codes().byCode(scope, 'unknown')).toBeUndefined();
    expect(await projected.codes().byCode({ ...scope, mode: 'test' }, 'new')).toBeUndefined();
    await projected.given(acme, { type: 'UserUnblocked', at: 50, person });
    expect((await projected.codes().byCode(scope, 'new'))?.ownerBlocked).toBe(false);
  });
});
