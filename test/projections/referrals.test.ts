import type { ReferralFilter, ReferralQueries } from '../../projections/referrals/queries.js';
import type { RewardQueries } from '../../projections/rewards/queries.js';
import {
  anAccount,
  credit,
  forgotten,
  partyOf,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardGranted,
} from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';

describe('referrals, from events to answers', () => {
  let projected: ProjectedLedger;
  const scope = { tenant: 'demo', mode: 'live' } as const;
  const a = anAccount('a');
  const b = anAccount('b');
  const c = anAccount('c');
  const shop = anAccount('shop');
  const mall = anAccount('mall');

  beforeEach(async () => {
    projected = await ProjectedLedger.open();
    projected.startRunner();
  });
  afterEach(() => projected.close());

  /** The ids of a list, after its total was found to agree. */
  const ids = async (filter: ReferralFilter): Promise<string[]> => {
    const page = await projected.referrals().list(scope, filter, { limit: 100, offset: 0 });
    expect(page.totalCount).toBe(page.items.length);
    return page.items.map((referral) => referral.referralId);
  };

  test('a referral goes from start to conversion, moderation and end, with the rewards of both sides', async () => {
    const referred = partyOf(a, 'new');
    const referrer = partyOf(shop, 'ann');
    const fraudSignals = { ip: { message: 'same address', score: 50 } };
    await projected.given(a, referralStarted('r1', referred, referrer, { at: 10, fraudSignals, referrerStatus: 'PENDING' }));
    const started = {
      ...{ referralId: 'r1', programId: 'default', referralCodeUsed: 'CODE', shareLinkUsed: null, fraudSignals },
      ...{
        referredAccountRef: a.accountRef,
        referredPerson: referred.person,
        referrerAccountRef: shop.accountRef,
        referrerPerson: referrer.person,
      },
      ...{ referredStatus: 'APPROVED', referrerStatus: 'PENDING', referredRewardId: null, referrerRewardId: null },
      ...{ dateReferralStarted: 10, dateReferralPaid: null, dateReferralEnded: null, dateModerated: 10 },
    };
    expect(await projected.referrals().byId(scope, 'r1')).toEqual(started);
    await projected.given(a, rewardGranted('w1', referred, credit(5), { source: 'REFERRED', referralId: 'r1' }));
    await projected.given(a, referralConverted('r1', referrer, { at: 20, referrerStatus: 'PENDING' }));
    await projected.given(a, referralModerated('r1', referrer, { at: 30 }), { type: 'ReferralEnded', at: 40, referralId: 'r1' });
    await projected.given(shop, rewardGranted('w2', referrer, credit(5), { source: 'FRIEND_SIGNUP', referralId: 'r1' }));
    await projected.given(shop, rewardGranted('w3', referrer, credit(5), { source: 'EVENT', referralId: 'r1' }));
    expect(await projected.referrals().byId(scope, 'r1')).toEqual({
      ...started,
      ...{ referrerStatus: 'APPROVED', referredRewardId: 'w1', referrerRewardId: 'w2' },
      ...{ dateReferralPaid: 20, dateReferralEnded: 40, dateModerated: 30 },
    });
    expect(await projected.referrals().byId({ ...scope, mode: 'test' }, 'r1')).toBeUndefined();
    expect(await projected.referrals().byId(scope, 'r2')).toBeUndefined();
  });

  test('lists filter by either party, by status and by dates, newest first', async () => {
    const ann = partyOf(shop, 'ann');
    const bob = partyOf(shop, 'bob');
    const mallAnn = partyOf(mall, 'ann');
    await projected.given(a, referralStarted('r1', partyOf(a, 'x'), ann, { at: 10 }));
    await projected.given(b, referralStarted('r2', partyOf(b, 'x'), bob, { at: 30, referredStatus: 'PENDING' }));
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
    expect(await ids({ referrerUserId: 'ann', referredStatus: 'APPROVED', referrerStatus: 'APPROVED' })).toEqual(['r3']);
    expect(await ids({ started: { from: 30 } })).toEqual(['r2', 'r3']);
    expect(await ids({ started: { to: 29 } })).toEqual(['r1']);
    expect(await ids({ started: { from: 30, to: 10 } })).toEqual([]);
    expect(await ids({ paid: { from: 50, to: 50 } })).toEqual(['r1']);
    expect(await ids({ ended: { from: 60 }, referrerUserId: 'ann' })).toEqual(['r3']);

    const page = await projected.referrals().list(scope, {}, { limit: 1, offset: 1 });
    expect(page.totalCount).toBe(3);
    expect(page.items.map(({ referralId }) => referralId)).toEqual(['r3']);
    expect(await projected.referrals().list({ ...scope, tenant: 'else' }, {}, { limit: 10, offset: 0 })).toEqual({
      totalCount: 0,
      items: [],
    });
  });

  test('a forgotten referrer counts for its account, not under an id, and later events find the counters', async () => {
    const gone = { ...partyOf(shop, 'ann'), ids: forgotten<{ accountId: string; userId: string }>('ann') };
    await projected.given(a, referralStarted('r1', partyOf(a, 'x'), gone, { code: forgotten('ann') }));
    // Known when it started, forgotten when it converts: the row remembers where it was counted.
    await projected.given(b, referralStarted('r2', partyOf(b, 'x'), partyOf(shop, 'bob')));
    await projected.given(b, referralConverted('r2', { ...partyOf(shop, 'bob'), ids: gone.ids }, { referredStatus: 'DENIED' }));
    expect((await projected.referrals().byId(scope, 'r1'))?.referralCodeUsed).toBeNull();
    expect(await ids({ referrerAccountRef: shop.accountRef })).toHaveLength(2);
    expect(await ids({ referrerUserId: 'bob', referredStatus: 'DENIED' })).toEqual(['r2']);
    expect(await ids({ referrerUserId: 'ann' })).toEqual([]);
  });

  test('the pages of what a person made, or was given, hold each thing once, whatever happens between them', async () => {
    const [ann, eve] = [partyOf(shop, 'ann'), partyOf(shop, 'eve')];
    const start = (id: string, referrer: typeof ann, at: number): Promise<void> =>
      projected.given(anAccount(`of ${id}`), referralStarted(id, partyOf(anAccount(`of ${id}`), 'x'), referrer, { at }));
    const give = (id: string, owner: typeof ann, at: number): Promise<void> =>
      projected.given(shop, rewardGranted(id, owner, credit(1), { at }));
    // Ties at 20, and another person's between.
    for (const [id, at] of Object.entries({ r1: 10, r2: 20, r3: 20, r4: 20, r5: 30 })) {
      await start(id, id === 'r3' ? eve : ann, at);
      await give(`w-${id}`, id === 'r3' ? eve : ann, at);
    }
    const whose = { accountRef: shop.accountRef, person: ann.person };
    const made: string[] = [];
    const given: string[] = [];
    let afterMade: Parameters<ReferralQueries['pageMadeBy']>[2];
    let afterGiven: Parameters<RewardQueries['pageOf']>[2];
    for (let number = 0; number < 5; number++) {
      if (number > 0 && afterMade === undefined) break;
      const page = await projected.referrals().pageMadeBy(scope, whose, afterMade, 2);
      made.push(...page.items.map(({ referralId }) => referralId));
      afterMade = page.next;
      const rewards = await projected.rewards().pageOf(scope, whose, afterGiven, 2);
      given.push(...rewards.items.map(({ rewardId }) => rewardId));
      afterGiven = rewards.next;
      await start(`later-${number}`, ann, 40 + number);
      await give(`w-later-${number}`, ann, 40 + number);
    }
    expect(made).toEqual(['r5', 'r2', 'r4', 'r1']);
    expect(given).toEqual(['w-r5', 'w-r2', 'w-r4', 'w-r1']);
  });
});
