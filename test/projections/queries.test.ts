import { accountProjectors } from '../../projections/account-projectors.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { BalanceFacts } from '../../src/domain/account/account.facts.js';
import type { ReferralFilter } from '../../projections/referrals/queries.js';
import { schemaOf } from '../../src/projecting/identifiers.js';
import {
  accountAttributed,
  accountOpened,
  anAccount,
  aProfile,
  credit,
  creditRedeemed,
  discount,
  partyOf,
  personOf,
  referralCodeAssigned,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { openOnce } from '../support/opened.js';

/** What queries of read models answer; test/projectors has the rows of events. */

const projected = openOnce(() => ProjectedLedger.open(), 'close');
const scope = { tenant: 'demo', mode: 'live' } as const;
const IN_TEST = { ...scope, mode: 'test' } as const;
const OF_ANOTHER = { ...scope, tenant: 'else' };
const acme = anAccount('acme');
const shop = anAccount('shop');

beforeAll(async () => {
  projected.startRunner();
});
afterEach(async () => {
  const tables = accountProjectors.flatMap((projector) =>
    projector.tables.map((table) => `${schemaOf(projector.name, 1)}.${table.name}`),
  );
  await projected.pool.query(`truncate ${tables.join(', ')}`);
});

test('the query of accounts returns subscription, currency and code of attribution, and a trial without a subscription', async () => {
  const subscription = {
    status: 'PAID',
    value: 9.5,
    billingIntervalType: 'MONTH',
    billingIntervalValue: 1,
  } as const;
  await projected.given(
    acme,
    accountOpened(acme),
    accountAttributed('ANN', partyOf(shop, 'ann')),
    subscriptionChanged(subscription),
  );
  await projected.given(shop, accountOpened(shop, { currency: 'EUR' }));
  expect(await projected.accounts().byRef(scope, acme.accountRef)).toEqual({
    accountId: 'acme',
    currency: 'USD',
    subscription,
    referralCode: 'ANN',
  });
  expect(await projected.accounts().byRef(scope, shop.accountRef)).toEqual({
    accountId: 'shop',
    currency: 'EUR',
    subscription: { status: 'TRIAL' },
    referralCode: null,
  });
  for (const elsewhere of [IN_TEST, OF_ANOTHER])
    expect(await projected.accounts().byRef(elsewhere, acme.accountRef)).toBeUndefined();
});

test('users that are read in one turn are answered each by its own account, id, tenant and mode', async () => {
  await projected.given(
    acme,
    accountOpened(acme),
    userIdentified(acme, 'ann', { firstName: 'Ann' }, 1_200),
    userIdentified(acme, '{"b\\,}', { firstName: 'Bob' }, 1_300),
  );
  await projected.given(
    shop,
    accountOpened(shop),
    userIdentified(shop, 'ann', { firstName: 'Anna' }, 1_400),
  );
  const users = projected.users();
  const read = await Promise.all([
    users.byUserId(scope, acme.accountRef, 'ann'),
    users.byUserId(scope, acme.accountRef, 'missing'),
    users.byUserId(IN_TEST, acme.accountRef, 'ann'),
    users.byUserId(OF_ANOTHER, acme.accountRef, 'ann'),
    users.byUserId(scope, shop.accountRef, 'ann'),
    users.byUserId(scope, acme.accountRef, '{"b\\,}'),
  ]);
  expect(read.map((user) => user?.firstName)).toEqual([
    'Ann',
    undefined,
    undefined,
    undefined,
    'Anna',
    'Bob',
  ]);
});

test('a user is answered with the profile, codes, the account provider id and who referred it', async () => {
  const { person } = partyOf(acme, 'ann');
  await projected.given(
    acme,
    accountOpened(acme),
    userIdentified(
      acme,
      'ann',
      { firstName: 'Ann', customFields: { plan: 'pro' }, segments: ['a'] },
      1_200,
    ),
    referralCodeAssigned(acme, 'ann', 'NEW'),
    paymentProviderIdSet(acme, 'cus_1'),
    { type: 'UserBlocked', at: 1_600, person },
    userIdentified(acme, 'bob', {}, 1_700),
    referralStarted('r1', partyOf(acme, 'ann'), partyOf(shop, 'eve')),
    referralConverted('r1', partyOf(shop, 'eve')),
  );
  const { id: _, ...profile } = aProfile('ann', {
    firstName: 'Ann',
    customFields: { plan: 'pro' },
    segments: ['a'],
  });
  const ann = {
    accountRef: acme.accountRef,
    person,
    accountId: 'acme',
    userId: 'ann',
    ...profile,
    dateCreated: 1_200,
    dateBlocked: 1_600,
    referralCodes: { default: 'NEW' },
    paymentProviderId: 'cus_1',
    referredBy: { code: 'CODE', isConverted: true },
  };
  expect(await projected.users().byUserId(scope, acme.accountRef, 'ann')).toEqual(ann);
  expect(await projected.users().byUserId(IN_TEST, acme.accountRef, 'ann')).toBeUndefined();
  const byPersons = await projected
    .users()
    .byPersons(scope, [person, personOf(acme, 'bob'), 'missing']);
  expect(byPersons.size).toBe(2);
  expect(byPersons.get(person)).toEqual(ann);
  expect(byPersons.get(personOf(acme, 'bob'))).toMatchObject({
    userId: 'bob',
    paymentProviderId: 'cus_1',
    referredBy: null,
  });
});

test('users are listed newest first, searched in any case and with wildcards meant literally', async () => {
  await projected.given(
    acme,
    accountOpened(acme),
    userIdentified(
      acme,
      'u1',
      { firstName: 'Ann', lastName: 'Lee', email: 'A_nn@Example.com' },
      100,
    ),
    userIdentified(acme, 'u2', { firstName: 'Bob\\by', email: 'bob@100%.org' }, 300),
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
  expect(await found('lee  ANN example')).toEqual(['u1']);
  expect(await found('lee bob')).toEqual([]);
  expect(await found('a_nn')).toEqual(['u1']);
  expect(await found('0%')).toEqual(['u2']);
  expect(await found('U3')).toEqual(['u3']);
  expect(await found('%')).toEqual(['u2']);
  expect(await found('b\\b')).toEqual(['u2']);
  expect(await found('le\\e')).toEqual([]);
  const composed = { firstName: 'Jos\u00E9', lastName: '\u0130nci', email: 'A\u0308@x.example' };
  await projected.given(acme, userIdentified(acme, 'u4', composed, 50));
  for (const query of ['jose\u0301', 'inci JOSE\u0301', '\u00E4@x', 'U4'])
    expect(await found(query)).toEqual(['u4']);
  const page = await projected.users().list(scope, { limit: 1, offset: 1 });
  expect(page.totalCount).toBe(4);
  expect(page.items.map((user) => user.userId)).toEqual(['u3']);
  expect(await projected.users().list(scope, { limit: 0, offset: 0 })).toEqual({
    totalCount: 4,
    items: [],
  });
  expect(await projected.users().list(IN_TEST, { limit: 10, offset: 0 })).toEqual({
    totalCount: 0,
    items: [],
  });
});

test('the query of codes finds a code in any case, with its owner', async () => {
  const person = personOf(acme, 'ann');
  await projected.given(
    acme,
    userIdentified(acme, 'ann', { firstName: 'Ann', lastName: 'Lee' }),
    referralCodeAssigned(acme, 'ann', 'AnnLee', 10),
    { type: 'UserBlocked', at: 40, person },
  );
  expect(await projected.codes().byCode(scope, 'annLEE')).toEqual({
    code: 'AnnLee',
    dateCreated: 10,
    accountRef: acme.accountRef,
    person,
    ownerBlocked: true,
    ownerFirstName: 'Ann',
    ownerLastName: 'Lee',
    programId: 'default',
  });
  expect(await projected.codes().byCode(scope, 'unknown')).toBeUndefined();
  expect(await projected.codes().byCode(IN_TEST, 'annlee')).toBeUndefined();
});

const a = anAccount('a');
const b = anAccount('b');
const c = anAccount('c');
const mall = anAccount('mall');

/** The ids of a list, after its total was found to agree. */
const ids = async (filter: ReferralFilter): Promise<string[]> => {
  const page = await projected.referrals().list(scope, filter, { limit: 100, offset: 0 });
  expect(page.totalCount).toBe(page.items.length);
  return page.items.map((referral) => referral.referralId);
};

test('a referral is answered with its statuses, dates, signals and the rewards of both sides', async () => {
  const referred = partyOf(a, 'new');
  const referrer = partyOf(shop, 'ann');
  const fraudSignals = { ip: { message: 'same address', score: 50 } };
  await projected.given(
    a,
    referralStarted('r1', referred, referrer, { at: 10, fraudSignals }),
    rewardGranted('w1', referred, credit(5), { source: 'REFERRED', referralId: 'r1' }),
    referralConverted('r1', referrer, { at: 20 }),
    referralModerated('r1', referrer, { at: 30, referrerStatus: 'DENIED' }),
    { type: 'ReferralEnded', at: 40, referralId: 'r1' },
  );
  await projected.given(
    shop,
    rewardGranted('w2', referrer, credit(5), { source: 'FRIEND_SIGNUP', referralId: 'r1' }),
  );
  expect(await projected.referrals().byId(scope, 'r1')).toEqual({
    referralId: 'r1',
    programId: 'default',
    referralCodeUsed: 'CODE',
    shareLinkUsed: null,
    fraudSignals,
    referredAccountRef: a.accountRef,
    referredPerson: referred.person,
    referrerAccountRef: shop.accountRef,
    referrerPerson: referrer.person,
    referredStatus: 'APPROVED',
    referrerStatus: 'DENIED',
    referredRewardId: 'w1',
    referrerRewardId: 'w2',
    dateReferralStarted: 10,
    dateReferralPaid: 20,
    dateReferralEnded: 40,
    dateModerated: 30,
  });
  expect(await projected.referrals().byId(IN_TEST, 'r1')).toBeUndefined();
  expect(await projected.referrals().byId(scope, 'r2')).toBeUndefined();
});

test('lists of referrals filter by either party, by status and by dates, newest first', async () => {
  const ann = partyOf(shop, 'ann');
  const bob = partyOf(shop, 'bob');
  const mallAnn = partyOf(mall, 'ann');
  await projected.given(a, referralStarted('r1', partyOf(a, 'x'), ann, { at: 10 }));
  await projected.given(
    b,
    referralStarted('r2', partyOf(b, 'x'), bob, { at: 30, referredStatus: 'PENDING' }),
  );
  await projected.given(c, referralStarted('r3', partyOf(c, 'y'), mallAnn, { at: 30 }));
  await projected.given(a, referralConverted('r1', ann, { at: 50, referrerStatus: 'DENIED' }));
  await projected.given(c, { type: 'ReferralEnded', at: 60, referralId: 'r3' });
  await projected.given(b, referralModerated('r2', bob, { at: 70, referredStatus: 'DENIED' }));

  expect(await ids({})).toEqual(['r2', 'r3', 'r1']);
  expect(await ids({ referrerAccountRef: shop.accountRef })).toEqual(['r2', 'r1']);
  expect(await ids({ referrerUserId: 'ann' })).toEqual(['r3', 'r1']);
  expect(await ids({ referrerAccountRef: shop.accountRef, referrerUserId: 'ann' })).toEqual(['r1']);
  expect(await ids({ referredAccountRef: b.accountRef })).toEqual(['r2']);
  expect(await ids({ referredUserId: 'x' })).toEqual(['r2', 'r1']);
  expect(await ids({ referredUserId: 'x', referrerUserId: 'ann' })).toEqual(['r1']);
  expect(await ids({ referredAccountRef: c.accountRef, referredUserId: 'x' })).toEqual([]);
  expect(await ids({ referrerStatus: 'DENIED' })).toEqual(['r1']);
  expect(await ids({ referredStatus: 'APPROVED' })).toEqual(['r3', 'r1']);
  expect(await ids({ referredStatus: 'PENDING' })).toEqual([]);
  expect(
    await ids({ referrerUserId: 'ann', referredStatus: 'APPROVED', referrerStatus: 'APPROVED' }),
  ).toEqual(['r3']);
  expect(await ids({ started: { from: 30 } })).toEqual(['r2', 'r3']);
  expect(await ids({ started: { to: 29 } })).toEqual(['r1']);
  expect(await ids({ started: { from: 30, to: 10 } })).toEqual([]);
  expect(await ids({ paid: { from: 50, to: 50 } })).toEqual(['r1']);
  expect(await ids({ ended: { from: 60 }, referrerUserId: 'ann' })).toEqual(['r3']);

  const page = await projected.referrals().list(scope, {}, { limit: 1, offset: 1 });
  expect(page.totalCount).toBe(3);
  expect(page.items.map(({ referralId }) => referralId)).toEqual(['r3']);
  expect(await projected.referrals().list(OF_ANOTHER, {}, { limit: 10, offset: 0 })).toEqual({
    totalCount: 0,
    items: [],
  });
});

const { accountRef } = acme;
const ann = partyOf(acme, 'ann');
const bob = partyOf(acme, 'bob');
const given = (...events: readonly AccountEvent[]) => projected.given(acme, ...events);
const NOTHING = {
  count: 0,
  totalRedeemedCredit: 0,
  totalAvailableCredit: 0,
  totalPendingCredit: 0,
  totalExpiredCredit: 0,
  totalCancelledCredit: 0,
  totalDiscountPercent: 0,
  referredDiscountPercent: 0,
  referrerDiscountPercent: 0,
  totalFuelTankCodes: 0,
};
const balances = (now: number, filter: { userId?: string; type?: BalanceFacts['type'] } = {}) =>
  projected.balances().list(scope, { accountRef, now, ...filter });
const creditFigures = async (now: number): Promise<Partial<BalanceFacts>> => {
  const [{ type: _, unit: __, ...figures } = { ...NOTHING, type: 'CREDIT', unit: null }] =
    await balances(now, { type: 'CREDIT' });
  const { units } = await projected.days().upTo(scope, now);
  expect(Number(units[0]?.outstanding ?? 0)).toBe(figures.totalAvailableCredit);
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== 0));
};

test('a credit reward is answered with its redemptions in their order', async () => {
  const texts = { subject: ann.person, value: { name: 'Thanks', description: null } };
  const reward = rewardGranted('w1', ann, credit(100), { at: 10, dateExpires: 900, texts });
  await given(
    reward,
    creditRedeemed(reward, 'd2', 30, 20),
    creditRedeemed(reward, 'd1', 5, 20),
    rewardGranted('w2', ann, credit(1), { at: 11 }),
  );
  const read = {
    reward_id: 'w1',
    user_id: 'ann',
    type: 'CREDIT',
    name: 'Thanks',
    date_expires: 900,
    assigned_credit: 100,
    redeemed_credit: 35,
    redemptions: [
      { id: 'd2', dateRedeemed: 20, quantityRedeemed: 30 },
      { id: 'd1', dateRedeemed: 20, quantityRedeemed: 5 },
    ],
  };
  expect(await projected.rewards().byId(scope, 'w1')).toMatchObject(read);
  expect(await projected.rewards().byId(IN_TEST, 'w1')).toBeUndefined();
  const byIds = await projected.rewards().byIds(scope, ['w1', 'w2', 'w9']);
  expect(byIds.size).toBe(2);
  expect(byIds.get('w1')).toMatchObject(read);
  expect(byIds.get('w2')).toMatchObject({ redeemed_credit: 0, redemptions: [] });
});

test('a balance sums over people, compares units without case and shows the first spelling', async () => {
  const first = rewardGranted('w1', bob, credit(100, 'Cents'));
  await given(
    first,
    rewardGranted('w2', ann, credit(50, 'CENTS')),
    rewardGranted('w3', ann, credit(7, 'POINTS')),
    creditRedeemed(first, 'd', 30, 1),
  );
  expect(await balances(5_000)).toEqual([
    {
      ...NOTHING,
      type: 'CREDIT',
      unit: 'Cents',
      count: 2,
      totalRedeemedCredit: 30,
      totalAvailableCredit: 120,
    },
    { ...NOTHING, type: 'CREDIT', unit: 'POINTS', count: 1, totalAvailableCredit: 7 },
  ]);
  expect(await balances(5_000, { userId: 'ann', type: 'CREDIT' })).toMatchObject([
    { unit: 'CENTS', totalAvailableCredit: 50, totalRedeemedCredit: 0 },
    { unit: 'POINTS' },
  ]);
  expect(await balances(5_000, { userId: 'missing' })).toEqual([]);
  expect(await projected.balances().list(IN_TEST, { accountRef, now: 1 })).toEqual([]);
});

test('outstanding credit is the available credit of all accounts, exact, by unit', async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const shop = anAccount('shop');
  await given(
    rewardGranted('w1', ann, credit(most, 'Cents'), { at: 1 }),
    rewardGranted('w2', ann, credit(7, 'POINTS')),
    rewardGranted('w3', ann, discount(10)),
  );
  await projected.given(
    shop,
    rewardGranted('w4', partyOf(shop, 'eve'), credit(most, 'CENTS'), { at: 2 }),
  );
  const all = 2n * BigInt(most);
  // The day of the recording.
  const day: unknown = expect.any(String);
  expect(await projected.days().upTo(scope, 5_000)).toEqual({
    conversions: 0,
    rewardsGranted: 4,
    units: [
      {
        unit: 'Cents',
        issued: all,
        redeemed: 0n,
        outstanding: all,
        days: [{ day, outstanding: all }],
      },
      {
        unit: 'POINTS',
        issued: 7n,
        redeemed: 0n,
        outstanding: 7n,
        days: [{ day, outstanding: 7n }],
      },
    ],
  });
  expect(await projected.days().upTo(IN_TEST, 5_000)).toEqual({
    conversions: 0,
    rewardsGranted: 0,
    units: [],
  });
});

test('credit goes from pending to available to expired at its dates, before the ledger records them', async () => {
  const reward = rewardGranted('w1', ann, credit(100), {
    at: 10,
    dateScheduledFor: 100,
    dateExpires: 200,
  });
  await given(reward);
  expect(await creditFigures(99)).toEqual({ totalPendingCredit: 100 });
  expect(await creditFigures(100)).toEqual({ count: 1, totalAvailableCredit: 100 });
  expect(await creditFigures(199)).toEqual({ count: 1, totalAvailableCredit: 100 });
  expect(await creditFigures(200)).toEqual({ totalExpiredCredit: 100 });
});
