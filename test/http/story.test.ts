import { path, query, type Json } from '../support/api-client.js';
import {
  aTime,
  creditBalance,
  expectedBalance,
  expectedReferral,
  expectedReward,
  expectedUser,
} from '../support/expected-answers.js';
import { freshNamespace, startEventStore } from '../support/event-store.js';
import {
  isCompiled,
  personal,
  shareService,
  startWithStores,
  type TestTenant,
  expectAnswer,
} from '../support/running-service.js';

/** One story through every route, each answer compared whole, on every log. */

interface LogOfStory {
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

async function onEventStoreDb(): Promise<LogOfStory> {
  const store = await startEventStore();
  return {
    environment: { EVENT_STORE_URL: store.url, EVENT_STORE_NAMESPACE: freshNamespace() },
    stop: () => store.stop(),
  };
}

const PAID = { status: 'PAID', value: 9.95, billingIntervalType: 'MONTH', billingIntervalValue: 1 };

// On EventStoreDB with the compiled service: `npm run test:faults`.
describe.each(isCompiled ? ['postgres', 'eventstoredb'] : ['postgres'])('on %s', (name) => {
  let log: LogOfStory | undefined;
  let running: Awaited<ReturnType<typeof startWithStores>>;
  let tenant: TestTenant;
  beforeAll(async () => {
    if (name === 'eventstoredb') log = await onEventStoreDb();
    running = await (log === undefined ? shareService() : startWithStores(log.environment));
    tenant = await running.service.createTenant();
  });
  afterAll(async () => {
    await running.end();
    await log?.stop();
  });

  test('the story of a referral holds from the first account to the last cent', async () => {
    const api = tenant.live;
    const before = Date.now();
    // Ids may be e-mail addresses, and hold what has a meaning in paths.
    const ann = { accountId: `${personal('acc')}/ä %2F?#`, id: `${personal('ann')}+1@example.com` };
    const bob = { accountId: personal('acc'), id: `${personal('bob')}@example.com` };
    const annAccount = { id: ann.accountId, currency: 'EUR', subscription: PAID, referral: null };

    const synced = await api.post('/accountsync', {
      id: ann.accountId,
      currency: 'EUR',
      subscription: PAID,
    });
    expectAnswer(synced, 200, annAccount);
    expect(synced.headers.get('ledger-position')).toMatch(/\S/);
    expect(synced.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expectAnswer(await api.get(`/account${path(ann.accountId)}`), 200, annAccount);

    // The referrer, with every member that a body may carry.
    const email = ` ${personal('Ann')}@Example.com`;
    const imageUrl = `https://images.example/${personal('img')}.png`;
    const firstName = personal('Ánn');
    const lastName = `Łee ${personal()}`;
    const paymentProviderId = personal('cus');
    const code = personal('AnnLee');
    const described = {
      email,
      imageUrl,
      firstName,
      lastName,
      paymentProviderId,
      locale: 'en_GB',
      countryCode: 'GB',
      customFields: { tier: 'gold', visits: 3, vip: true },
      segments: ['a', 'b', '~a', 'c'],
      referable: false,
    };
    const annUser = expectedUser(
      { tenant: tenant.alias, ...ann, code, email: email.trim() },
      {
        firstName,
        lastName,
        imageUrl,
        locale: 'en_GB',
        countryCode: 'GB',
        paymentProviderId,
        referable: false,
        customFields: { tier: 'gold', visits: 3, vip: true },
        segments: ['b', 'c'],
      },
    );
    const upserted = await api.post('/user', { ...ann, ...described, referralCode: code });
    expectAnswer(upserted, 200, annUser);
    expect(upserted.body['dateCreated']).toBeGreaterThanOrEqual(before);
    expect(upserted.body['dateCreated']).toBeLessThanOrEqual(Date.now());
    const annPath = `/account${path(ann.accountId)}/user${path(ann.id)}`;
    expectAnswer(await api.get(annPath), 200, upserted.body);
    expectAnswer(
      await api.get(`/user${query({ referralCode: code.toUpperCase() })}`),
      200,
      upserted.body,
    );
    expect((await api.get('/users')).body).toMatchObject({
      totalCount: 1,
      users: [{ id: ann.id }],
    });
    const codeDetails = {
      code,
      dateCreated: upserted.body['dateCreated'],
      referrerName: `${firstName} Ł`,
      programId: 'default',
      reward: { type: 'PCT_DISCOUNT', unit: '%', discountPercent: 10 },
    };
    expectAnswer(await api.get(`/code${path(code.toLowerCase())}`), 200, codeDetails);

    // The referred account, with the code in another case.
    const subscription = { status: 'TRIAL' };
    expectAnswer(
      await api.post('/accountsync', {
        id: bob.accountId,
        subscription,
        referral: { code: code.toUpperCase() },
      }),
      200,
      { id: bob.accountId, currency: 'USD', subscription, referral: { code } },
    );
    expectAnswer(await api.get('/referrals'), 200, { count: 0, totalCount: 0, referrals: [] });

    const bobUser = (referredBy: Json) =>
      expectedUser(
        { tenant: tenant.alias, ...bob, code: bobCode },
        { firstName: bobCode, referredBy: { code, ...referredBy }, referredByCodes: [code] },
      );
    const bobCode = personal('BOB').toUpperCase();
    const started = await api.post('/user', { ...bob, firstName: bobCode });
    expectAnswer(started, 200, bobUser({ isConverted: false, newlyReferred: true }));
    const bobPath = `/account${path(bob.accountId)}/user${path(bob.id)}`;
    expectAnswer(
      await api.get(bobPath),
      200,
      bobUser({ isConverted: false, newlyReferred: false }),
    );

    const ofAnn = { accountId: ann.accountId, userId: ann.id };
    const ofBob = { accountId: bob.accountId, userId: bob.id };
    const inPercent = { ...ofBob, type: 'PCT_DISCOUNT', unit: '%' };
    const inCredit = { ...ofAnn, type: 'CREDIT', redeemedCredit: 0, redemptions: [] };
    const discount = expectedReward({
      ...inPercent,
      discountPercent: 10,
      rewardSource: 'REFERRED',
    });
    const running1 = await api.get<{ referrals: Json[] }>('/referrals');
    expectAnswer(running1, 200, {
      count: 1,
      totalCount: 1,
      referrals: [
        expectedReferral(code, {
          referredUser: bobUser({ isConverted: false, newlyReferred: false }),
          referrerUser: annUser,
          referredReward: discount,
        }),
      ],
    });
    const [referral] = running1.body.referrals;
    expect(referral!['dateModerated']).toBe(referral!['dateReferralStarted']);
    expectAnswer(await api.get(`/referrals${path(String(referral!['id']))}`), 200, referral);

    // PAID: what it sets off is there in the very next reads, whichever comes first.
    const paid = await api.post('/accountsync', { id: bob.accountId, subscription: PAID });
    expectAnswer(paid, 200, {
      id: bob.accountId,
      currency: 'USD',
      subscription: PAID,
      referral: { code },
    });
    const credit = expectedReward({
      ...inCredit,
      unit: 'CENTS',
      assignedCredit: 1000,
      rewardSource: 'FRIEND_SIGNUP',
    });
    const rewards = await api.get<Json[]>(`/reward${query({ accountId: ann.accountId })}`);
    expectAnswer(rewards, 200, [credit]);
    const rewardId = String(rewards.body[0]!['id']);
    const converted = await api.get(`/referrals${path(String(referral!['id']))}`);
    expectAnswer(converted, 200, {
      ...referral,
      referredUser: bobUser({ isConverted: true, newlyReferred: false }),
      referrerReward: rewards.body[0],
      dateReferralPaid: aTime,
    });
    expectAnswer(await api.get(`/reward/balance${query({ accountId: ann.accountId })}`), 200, [
      creditBalance('CENTS', 1, 1000),
    ]);
    expectAnswer(await api.get(`/reward/balance${query({ accountId: bob.accountId })}`), 200, [
      expectedBalance({
        type: 'PCT_DISCOUNT',
        unit: '%',
        totalDiscountPercent: 10,
        referredDiscountPercent: 10,
        referrerDiscountPercent: 0,
      }),
    ]);
    expectAnswer(await api.get(`/reward${path(rewardId)}/`), 201, rewards.body[0]);
    expectAnswer(await api.get(`/account${path(ann.accountId)}/reward`), 200, rewards.body);

    // Spending.
    expectAnswer(
      await api.post(`/credit${path(rewardId)}/redeem`, { amount: 300, unit: 'cents' }),
      200,
      { creditRedeemed: 300, creditAvailable: 700, unit: 'CENTS' },
    );
    const given = await api.post(`/rewards${annPath}`, {
      type: 'CREDIT',
      unit: 'Cents',
      assignedCredit: 50,
      name: 'Sorry',
      currency: 'EUR',
    });
    const sorry = { unit: 'Cents', assignedCredit: 50, name: 'Sorry', currency: 'EUR' };
    expectAnswer(given, 201, expectedReward({ ...inCredit, ...sorry }));
    expectAnswer(
      await api.post('/credit/bulkredeem', {
        accountId: ann.accountId,
        amount: 710,
        unit: 'CENTS',
      }),
      200,
      { creditRedeemed: 710, creditAvailable: 40, unit: 'CENTS' },
    );
    const redemption = (quantityRedeemed: number) => ({
      id: expect.any(String) as unknown,
      dateRedeemed: aTime,
      quantityRedeemed,
    });
    expectAnswer(
      await api.get(`/reward${query({ accountId: ann.accountId, rewardTypeFilter: 'CREDIT' })}`),
      200,
      [
        { ...given.body, redeemedCredit: 10, redemptions: [redemption(10)] },
        {
          ...rewards.body[0],
          redeemedCredit: 1000,
          redemptions: [redemption(300), redemption(700)],
        },
      ],
    );
    expectAnswer(await api.get(`/reward/balance${query({ accountId: ann.accountId })}`), 200, [
      creditBalance('CENTS', 2, 40, 1010),
    ]);

    // Moderating, leaving.
    const denied = await api.post('/referrals/moderate', {
      actions: [{ referralId: referral!['id'], action: 'REFERRED_DENIED' }],
    });
    expectAnswer(denied, 200, {});
    expect(denied.headers.get('ledger-position')).toMatch(/\S/);
    const moderated = await api.get(`/referrals${path(String(referral!['id']))}`);
    expect(moderated.body).toMatchObject({
      moderationStatus: 'ACTIONED',
      referredModerationStatus: 'DENIED',
      referrerModerationStatus: 'APPROVED',
      referredReward: { dateCancelled: aTime },
      referrerReward: { dateCancelled: null },
    });
    expect(moderated.body['dateModerated']).toBeGreaterThan(Number(referral!['dateModerated']) - 1);

    await api.post('/accountsync', { id: bob.accountId, subscription: { status: 'CANCELLED' } });
    const ended = await api.get(`/referrals${path(String(referral!['id']))}`);
    expect(ended.body).toStrictEqual({ ...moderated.body, dateReferralEnded: aTime });
  });

  test('log lines and metrics name no person', async () => {
    const { origin, logText } = running.service;
    expect(logText.split('\n').length).toBeGreaterThan(20);
    expect(logText).toContain('"route":"/api/v1/:tenantAlias/account/:accountId/user/:userId"');
    expect(running.service.indiscretions()).toStrictEqual([]);
    const metrics = await (await fetch(`${origin}/metrics`)).text();
    expect(metrics).toContain('route="/api/v1/:tenantAlias/account/:accountId/user/:userId"');
    expect(metrics.toLowerCase()).not.toContain(personal().slice(0, 3));
  });
});
