import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import { aTime } from '../support/expected-answers.js';
import {
  outcome,
  personal,
  useSharedService,
  expectAnswer,
  expectRefusal,
} from '../support/running-service.js';

/** Discounts are what the referral and the rewards of an account say. */

const running = useSharedService();
let api: ApiClient;
let ann: Owner;
const PERCENT = { type: 'PCT_DISCOUNT', discountPercent: 15 } as const;
beforeAll(async () => {
  api = (await running.service.createTenant()).live;
  ann = await owner(api, { firstName: personal('Ann'), lastName: 'Lee' });
});

interface Owner {
  readonly accountId: string;
  readonly userId: string;
  readonly code: string;
  readonly name: string | null;
}

async function owner(
  of: ApiClient,
  more: {
    readonly firstName?: string;
    readonly lastName?: string;
  } = {},
): Promise<Owner> {
  const accountId = personal('acc');
  const userId = personal('user');
  const referralCode = personal('Code');
  const at = `/open/account${path(accountId)}/user${path(userId)}`;
  const { status, body } = await of.put(at, { ...more, referralCode });
  expect(status).toBe(200);
  const { firstName, lastName = '' } = more;
  const name = firstName === undefined ? null : `${firstName} ${lastName.slice(0, 1)}`;
  return { accountId, userId, code: String(body['referralCode']), name };
}

const PAID = { status: 'PAID', value: 9, billingIntervalType: 'MONTH', billingIntervalValue: 1 };
const sync = (id: string, subscription: Json, more: Json = {}) =>
  api.post('/accountsync', { id, subscription, ...more });
async function newAccount(): Promise<string> {
  const id = personal('acc');
  expect((await sync(id, { status: 'TRIAL' })).status).toBe(200);
  return id;
}
const cus = () => personal('cus');
const apply = (body: Json, of = api, key?: string) =>
  of.post<Json | undefined>('/discount', body, key === undefined ? {} : { key });
const discountOf = async (accountId: string, couponCode?: string, of = api) =>
  outcome(await of.get(`/account${path(accountId)}/discount${query({ couponCode })}`));
const percents = (
  accountId: string,
  referred: number,
  referrer: number,
  referrerName: string | null,
) => ({
  status: 200,
  body: {
    accountId,
    discountPercentage: referred + referrer,
    referredDiscountPercent: referred,
    referrerDiscountPercent: referrer,
    referrerName,
  },
});
const DONE = { status: 200, body: undefined };

/** The figures of the reward routes for the same account. */
async function byRewards(accountId: string) {
  const filter = query({ accountId, rewardTypeFilter: 'PCT_DISCOUNT' });
  const [balance = {}] = (await api.get<Json[]>(`/reward/balance${filter}`)).body;
  return [balance['referredDiscountPercent'] ?? 0, balance['referrerDiscountPercent'] ?? 0];
}

test('the story by discount routes: a code is looked up, the customer made, the first invoice paid', async () => {
  const found = await api.get(`/discount${path(ann.code.toLowerCase())}`);
  expectAnswer(found, 200, {
    couponCode: ann.code,
    referrerName: ann.name,
    discountPercentage: 10,
    dateCreated: aTime,
  });
  const bob = await owner(api);
  const customer = cus();
  const would = await discountOf(bob.accountId, ann.code);
  expect(await discountOf(bob.accountId)).toStrictEqual(percents(bob.accountId, 0, 0, null));
  const body = { accountId: bob.accountId, paymentProviderId: customer, couponCode: ann.code };
  const applied = await apply(body);
  expect(outcome(applied)).toStrictEqual(DONE);
  expect(applied.headers.get('ledger-position')).toMatch(/\S/);
  expect([applied.headers.get('content-type'), applied.headers.get('content-length')]).toEqual([
    null,
    '0',
  ]);
  const now = await discountOf(bob.accountId);
  expect(now).toStrictEqual(percents(bob.accountId, 10, 0, ann.name));
  expect(would).toStrictEqual(now);
  const user = await api.get(`/account${path(bob.accountId)}/user${path(bob.userId)}`);
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

  expect((await sync(bob.accountId, PAID)).status).toBe(200);
  expect(await byRewards(bob.accountId)).toEqual([10, 0]);
  expect(await discountOf(bob.accountId)).toStrictEqual(now);
  const credit = query({ accountId: ann.accountId, rewardTypeFilter: 'CREDIT' });
  const [balance] = (await api.get<Json[]>(`/reward/balance${credit}`)).body;
  expect(balance).toMatchObject({ unit: 'CENTS', totalAssignedCredit: 1000 });
  // Credit is no percentage.
  expect(await discountOf(ann.accountId)).toStrictEqual(percents(ann.accountId, 0, 0, null));
});

describe('a coupon in the question', () => {
  test('adds what the code promises, also to an account without users', async () => {
    const account = await newAccount();
    expect(await discountOf(account, ann.code.toUpperCase())).toStrictEqual(
      percents(account, 10, 0, ann.name),
    );
    expect(await discountOf(account, '')).toStrictEqual(percents(account, 0, 0, null));
  });

  test.each([
    ['earned at conversion', { referredReward: { ...PERCENT, when: 'CONVERTED' } }],
    ['available later', { referredReward: { ...PERCENT, delayDays: 3 } }],
    ['held for moderation', { moderation: { referred: 'PENDING' } }],
    ['credit', { referredReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5 } }],
  ] as const)('adds nothing that is %s, before POST and after it', async (_, change) => {
    const program: ProgramDocument = { id: 'default', referredReward: PERCENT, ...change };
    const { live } = await running.service.createTenant({ program });
    const [eve, dan] = [await owner(live, { firstName: 'Eve' }), await owner(live)];
    const would = await discountOf(dan.accountId, eve.code, live);
    expect(would).toStrictEqual(percents(dan.accountId, 0, 0, 'Eve'));
    const body = { accountId: dan.accountId, paymentProviderId: cus(), couponCode: eve.code };
    expect(outcome(await apply(body, live))).toStrictEqual(DONE);
    expect(await discountOf(dan.accountId, undefined, live)).toStrictEqual(would);
  });
});

describe('is refused, and nothing changes:', () => {
  const untouched = async (accountId: string) => {
    expect(await discountOf(accountId)).toStrictEqual(percents(accountId, 0, 0, null));
    const { body } = await api.get(`/account${path(accountId)}`);
    expect(body).toMatchObject({ referral: null });
  };

  test('a look-up of an unknown code or account', async () => {
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

  test('a body that lacks one of the three, or has it wrong', async () => {
    const good: Json = {
      accountId: await newAccount(),
      paymentProviderId: cus(),
      couponCode: ann.code,
    };
    for (const member of Object.keys(good))
      for (const wrong of [undefined, null, '', {}, 'x'.repeat(256), 'a\u0000b']) {
        const { status, body } = await apply({ ...good, [member]: wrong });
        expect([status, body]).toMatchObject([
          400,
          {
            apiErrorCode: 'BAD_REQUEST',
            validationErrors: [expect.stringMatching(`^${member} |NUL`)],
          },
        ]);
      }
    expect((await api.post('/discount')).status).toBe(400);
    await untouched(String(good['accountId']));
  });
});
