import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import { aPerson, PAID, TRIAL, type Person } from '../support/people.js';
import { aTime } from '../support/expected-answers.js';
import {
  outcome,
  personal,
  useSharedService,
  expectAnswer,
  expectRefusal,
} from '../support/running-service.js';

const running = useSharedService();
let api: ApiClient;
let ann: Person;
const ANN = { firstName: personal('Ann'), lastName: 'Lee' };
const ANNS_NAME = `${ANN.firstName} L`;
const PERCENT = { type: 'PCT_DISCOUNT', discountPercent: 15 } as const;
beforeAll(async () => {
  api = (await running.service.createTenant()).live;
  ann = await aPerson(api, { ...ANN, referralCode: personal('Code') });
});

const cus = () => personal('cus');
const apply = (body: Json, of = api, key?: string) =>
  of.post<Json | undefined>('/discount', body, key === undefined ? {} : { key });
const discountOf = async (accountId: string, couponCode?: string, of = api) =>
  outcome(await of.get(`/account${path(accountId)}/discount${query({ couponCode })}`));
const percents = (accountId: string, percent: number, referrerName: string | null) => ({
  status: 200,
  body: {
    accountId,
    discountPercentage: percent,
    referredDiscountPercent: percent,
    referrerDiscountPercent: 0,
    referrerName,
  },
});
const DONE = { status: 200, body: undefined };

test('the story by discount routes: a code is looked up, the customer made, the first invoice paid', async () => {
  const found = await api.get(`/discount${path(ann.code.toLowerCase())}`);
  expectAnswer(found, 200, {
    couponCode: ann.code,
    referrerName: ANNS_NAME,
    discountPercentage: 10,
    dateCreated: aTime,
  });
  const bob = await aPerson(api);
  const customer = cus();
  const would = await discountOf(bob.accountId, ann.code);
  expect(await discountOf(bob.accountId)).toStrictEqual(percents(bob.accountId, 0, null));
  const body = { accountId: bob.accountId, paymentProviderId: customer, couponCode: ann.code };
  const applied = await apply(body);
  expect(outcome(applied)).toStrictEqual(DONE);
  expect(applied.headers.get('ledger-position')).toMatch(/\S/);
  expect([applied.headers.get('content-type'), applied.headers.get('content-length')]).toEqual([
    null,
    '0',
  ]);
  const now = await discountOf(bob.accountId);
  expect(now).toStrictEqual(percents(bob.accountId, 10, ANNS_NAME));
  expect(would).toStrictEqual(now);
  const user = await api.get(`/account${path(bob.accountId)}/user${path(bob.id)}`);
  expect(user.body).toMatchObject({
    paymentProviderId: customer,
    referredBy: { code: ann.code, isConverted: false },
  });

  // A repetition with a key changes nothing.
  const key = personal('key');
  expectAnswer(await apply(body, api, key), 200, undefined);
  const again = await apply(body, api, key);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  expectRefusal(
    await apply({ ...body, couponCode: 'other' }, api, key),
    422,
    'IDEMPOTENCY_KEY_REUSED',
  );

  expect((await api.post('/accountsync', { id: bob.accountId, subscription: PAID })).status).toBe(
    200,
  );
  const percent = query({ accountId: bob.accountId, rewardTypeFilter: 'PCT_DISCOUNT' });
  expect((await api.get(`/reward/balance${percent}`)).body).toMatchObject([
    { referredDiscountPercent: 10, referrerDiscountPercent: 0 },
  ]);
  expect(await discountOf(bob.accountId)).toStrictEqual(now);
  const credit = query({ accountId: ann.accountId, rewardTypeFilter: 'CREDIT' });
  const [balance] = (await api.get<Json[]>(`/reward/balance${credit}`)).body;
  expect(balance).toMatchObject({ unit: 'CENTS', totalAssignedCredit: 1000 });
  // Credit is no percentage.
  expect(await discountOf(ann.accountId)).toStrictEqual(percents(ann.accountId, 0, null));
});

test('a coupon in the question adds what the code promises, also to an account without users', async () => {
  const account = personal('acc');
  await api.post('/accountsync', { id: account, subscription: TRIAL });
  expect(await discountOf(account, ann.code.toUpperCase())).toStrictEqual(
    percents(account, 10, ANNS_NAME),
  );
  expect(await discountOf(account, '')).toStrictEqual(percents(account, 0, null));
});

test.each([
  ['earned at conversion', { referredReward: { ...PERCENT, when: 'CONVERTED' } }],
  ['available later', { referredReward: { ...PERCENT, delayDays: 3 } }],
  ['held for moderation', { moderation: { referred: 'PENDING' } }],
  ['credit', { referredReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5 } }],
] as const)(
  'a coupon in the question adds nothing that is %s, before POST and after it',
  async (_, change) => {
    const program: ProgramDocument = { id: 'default', referredReward: PERCENT, ...change };
    const { live } = await running.service.createTenant({ program });
    const [eve, dan] = [await aPerson(live, { firstName: 'Eve' }), await aPerson(live)];
    const would = await discountOf(dan.accountId, eve.code, live);
    expect(would).toStrictEqual(percents(dan.accountId, 0, 'Eve'));
    const body = { accountId: dan.accountId, paymentProviderId: cus(), couponCode: eve.code };
    expect(outcome(await apply(body, live))).toStrictEqual(DONE);
    expect(await discountOf(dan.accountId, undefined, live)).toStrictEqual(would);
  },
);

test('a look-up of an unknown code or account is refused', async () => {
  for (const code of ['nobodys', 'a%2Fb', 'x'.repeat(255)])
    expectRefusal(await api.get(`/discount/${code}`), 404, 'REFERRAL_CODE_NOT_FOUND');
  for (const coupon of ['', `?couponCode=${ann.code}`])
    expectRefusal(
      await api.get(`/account/missing/discount${coupon}`),
      404,
      'ACCOUNT_NOT_FOUND',
      'RS041',
    );
});
