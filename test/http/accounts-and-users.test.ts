import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import { expectedUser } from '../support/expected-answers.js';
import {
  outcome,
  personal,
  refusal,
  shareService,
  type TestTenant,
} from '../support/running-service.js';

let running: Awaited<ReturnType<typeof shareService>>;
let tenant: TestTenant;
let api: ApiClient;
beforeAll(async () => {
  running = await shareService();
  tenant = await running.service.createTenant();
  api = tenant.live;
});
afterAll(() => running.end());

const TRIAL = { status: 'TRIAL' };
const PAID = { status: 'PAID', value: 0, billingIntervalType: 'YEAR', billingIntervalValue: 2 };

async function account(more: Json = {}): Promise<string> {
  const id = personal('acc');
  expect((await api.post('/accountsync', { id, subscription: TRIAL, ...more })).status).toBe(200);
  return id;
}

interface Person {
  readonly accountId: string;
  readonly id: string;
  readonly code: string;
  readonly at: string;
}

async function user(more: Json = {}, accountId?: string): Promise<Person> {
  const inAccount = accountId ?? (await account());
  const id = personal('user');
  const { status, body } = await api.post('/user', { id, accountId: inAccount, ...more });
  expect(status).toBe(200);
  return {
    id,
    accountId: inAccount,
    code: String(body['referralCode']),
    at: `/account${path(inAccount)}/user${path(id)}`,
  };
}
const apply = (code: string, { accountId, id }: Pick<Person, 'accountId' | 'id'>) =>
  api.post(`/open/code${path(code)}/account${path(accountId)}/user${path(id)}`);

describe('accountsync', () => {
  // Every bad body: `test/http-edge/requests.test.ts`.
  test('is refused without a body and with a bad one', async () => {
    for (const body of [undefined, { id: 'a', subscription: { status: 'paid' } }])
      expect(outcome(await api.post('/accountsync', body))).toStrictEqual(
        refusal(400, 'BAD_REQUEST', 'RS022'),
      );
  });

  test('replaces the subscription as a whole, and keeps currency and referral when they are omitted', async () => {
    const { code } = await user();
    const id = personal('acc');
    const first = await api.post('/accountsync', {
      id,
      subscription: { ...PAID, status: 'FREE' },
      currency: 'CHF',
      referral: { code },
    });
    expect(first.body).toStrictEqual({
      id,
      currency: 'CHF',
      subscription: { ...PAID, status: 'FREE' },
      referral: { code },
    });
    const second = await api.post('/accountsync', {
      id,
      subscription: TRIAL,
      currency: null,
      referral: null,
    });
    expect(second.body).toStrictEqual({
      id,
      currency: 'CHF',
      subscription: TRIAL,
      referral: { code },
    });
    const third = await api.post('/accountsync', {
      id,
      subscription: TRIAL,
      currency: 'JPY',
      referral: { code: (await user()).code },
    });
    expect(third.body).toStrictEqual({
      id,
      currency: 'JPY',
      subscription: TRIAL,
      referral: { code },
    });
    expect((await api.get(`/account${path(id)}`)).body).toStrictEqual(third.body);
  });

  test('accepts ids and codes that are JSON numbers, and ignores unknown members', async () => {
    const number = 4_711_000 + Math.floor(Math.random() * 1000);
    const owner = await user({ referralCode: number });
    expect(owner.code).toBe(String(number));
    const id = Number(`9${String(Date.now()).slice(-9)}`);
    const { body } = await api.post('/accountsync', {
      id,
      subscription: { ...TRIAL, more: 1 },
      referral: { code: number },
      x: [{}],
    });
    expect(body).toStrictEqual({
      id: String(id),
      currency: 'USD',
      subscription: TRIAL,
      referral: { code: String(number) },
    });
    expect((await api.get(`/account/${id}`)).status).toBe(200);
  });

  test('shows nothing of an unknown account', async () => {
    expect(outcome(await api.get(`/account/${personal()}`))).toStrictEqual(
      refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
    );
    expect(outcome(await api.get(`/account/${personal()}/reward`))).toStrictEqual(
      refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
    );
    expect(outcome(await api.get(`/reward${query({ accountId: personal() })}`))).toStrictEqual({
      status: 200,
      body: [],
    });
    expect(
      outcome(await api.get(`/reward/balance${query({ accountId: personal() })}`)),
    ).toStrictEqual({ status: 200, body: [] });
  });
});

describe('users', () => {
  // Every bad member: `test/http-edge/requests.test.ts`.
  test.each<[string, Json, string | null]>([
    ['an address without a host', { email: 'ann@' }, 'RS023'],
    ['a code for an unknown program', { referralCodes: { other: 'Abc' } }, null],
    [
      'two codes for the default program',
      { referralCode: 'Abc', referralCodes: { default: 'Def' } },
      null,
    ],
  ])('are refused with %s', async (_what, change, rsCode) => {
    const accountId = await account();
    for (const at of [accountId, personal('nowhere')]) {
      const refused = await api.post('/user', { id: 'u', accountId: at, ...change });
      expect(outcome(refused)).toStrictEqual(refusal(400, 'BAD_REQUEST', rsCode));
    }
    expect((await api.get(`/account${path(accountId)}/user/u`)).status).toBe(404);
  });

  test('need an existing account', async () => {
    expect(
      outcome(await api.post('/user', { id: personal(), accountId: personal() })),
    ).toStrictEqual(refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'));
  });

  test('keep omitted members, clear null ones, ignore empty ones', async () => {
    const person = await user({
      firstName: 'Ada',
      lastName: 'B',
      locale: 'de',
      email: `${personal()}@example.org`,
      referable: false,
    });
    const change = (more: Json) =>
      api.post('/user', { id: person.id, accountId: person.accountId, ...more });
    const before = (await api.get(person.at)).body;
    expect((await change({})).body).toStrictEqual(before);
    expect(
      (
        await change({
          firstName: '',
          email: '',
          locale: '',
          referralCode: '',
          referredBy: { code: '' },
        })
      ).body,
    ).toStrictEqual(before);
    expect(
      (await change({ firstName: null, lastName: 'C', locale: null, referable: null })).body,
    ).toStrictEqual({
      ...before,
      firstName: null,
      lastName: 'C',
      locale: null,
      referable: true,
    });
    expect((await change({ email: null })).body).toMatchObject({ email: null, emailHash: null });
  });

  test('are unknown in a known account and in an unknown one', async () => {
    const { accountId } = await user();
    for (const inAccount of [accountId, personal()]) {
      const at = `/account${path(inAccount)}/user/${personal()}`;
      const unknown = refusal(404, 'USER_NOT_FOUND', 'RS042');
      expect(outcome(await api.get(at))).toStrictEqual(unknown);
      expect(outcome(await api.post(`${at}/block`))).toStrictEqual(unknown);
      expect(outcome(await api.post(`${at}/unblock`))).toStrictEqual(unknown);
      expect(
        outcome(await api.post(`/rewards${at}`, { type: 'PCT_DISCOUNT', discountPercent: 1 })),
      ).toStrictEqual(unknown);
    }
  });

  test('are blocked and unblocked, each once', async () => {
    const { at } = await user();
    expect(outcome(await api.post(`${at}/unblock`))).toStrictEqual(
      refusal(403, 'USER_NOT_BLOCKED'),
    );
    expect(outcome(await api.post(`${at}/block`))).toStrictEqual({ status: 200, body: {} });
    expect(outcome(await api.post(`${at}/block`, {}))).toStrictEqual(
      refusal(403, 'USER_ALREADY_BLOCKED'),
    );
    expect(outcome(await api.post(`${at}/unblock`))).toStrictEqual({ status: 200, body: {} });
    expect(outcome(await api.post(`${at}/unblock`))).toStrictEqual(
      refusal(403, 'USER_NOT_BLOCKED'),
    );
  });

  test('share the one paymentProviderId of their account, which no other account may have', async () => {
    const paymentProviderId = personal('cus');
    const first = await user({ paymentProviderId });
    const second = await user({}, first.accountId);
    expect((await api.get(second.at)).body['paymentProviderId']).toBe(paymentProviderId);
    const change = (more: Json) =>
      api.post('/user', { id: second.id, accountId: second.accountId, ...more });
    expect((await change({ paymentProviderId })).status).toBe(200);
    expect(outcome(await change({ paymentProviderId: personal('cus') }))).toStrictEqual(
      refusal(400, 'PAYMENT_PROVIDER_ID_SET', 'RS019'),
    );
    const other = await account();
    expect(
      outcome(await api.post('/user', { id: 'x', accountId: other, paymentProviderId })),
    ).toStrictEqual(refusal(400, 'PAYMENT_PROVIDER_ID_USED', 'RS029'));
    expect((await api.get(`/account${path(other)}/user/x`)).status).toBe(404);
    // The id that was tried in vain for the second user is nobody's.
    const free = await user({ paymentProviderId: personal('cus') });
    expect((await api.get(free.at)).status).toBe(200);
  });
});

describe('codes', () => {
  test('are kept as sent, compared without case, and belong to one person', async () => {
    const code = `${personal('Mi')}X`;
    const owner = await user({ referralCode: code });
    expect(owner.code).toBe(code);
    const accountId = await account();
    const taken = await api.post('/user', { id: 'x', accountId, referralCode: code.toUpperCase() });
    expect(outcome(taken)).toStrictEqual(refusal(400, 'REFERRAL_CODE_TAKEN'));
    expect((await api.get(`/account${path(accountId)}/user/x`)).status).toBe(404);
    expect(
      outcome(await api.post('/user', { id: 'x', accountId: owner.accountId, referralCode: code })),
    ).toStrictEqual(refusal(400, 'REFERRAL_CODE_TAKEN'));
  });

  test.each(['nobodys', 'no-code', 'x'.repeat(16), 'a b', 'é', '%00', 'a%2Fb', 'x'.repeat(2000)])(
    'are not found by GET /code/%s',
    async (code) => {
      expect(
        outcome(
          await api.get(
            `/code/${code === '%00' || code.includes('%') ? code : encodeURIComponent(code)}`,
          ),
        ),
      ).toStrictEqual(refusal(404, 'REFERRAL_CODE_NOT_FOUND'));
      if (!code.includes('%')) {
        expect(outcome(await api.get(`/user${query({ referralCode: code })}`))).toStrictEqual(
          refusal(404, 'REFERRAL_CODE_NOT_FOUND'),
        );
      }
    },
  );

  test.each(['', '?referralCode=', '?referralCode=a&referralCode=b'])(
    'are required by GET /user%s',
    async (parameters) => {
      expect(outcome(await api.get(`/user${parameters}`))).toStrictEqual(
        refusal(400, 'BAD_REQUEST'),
      );
    },
  );

  test('show short names in public', async () => {
    const nameOf = async (more: Json) =>
      (await api.get(`/code/${(await user(more)).code}`)).body['referrerName'];
    expect(await nameOf({ firstName: 'Ann', lastName: 'Lee' })).toBe('Ann L');
    expect(await nameOf({ firstName: 'Ann' })).toBe('Ann');
    expect(await nameOf({ lastName: 'Lee' })).toBe('L');
    expect(await nameOf({ firstName: 'Ann', lastName: '😀x' })).toBe('Ann 😀');
    expect(await nameOf({})).toBeNull();
  });

  test('are refused in this order: code, user, own, referred, paid, not referable', async () => {
    const owner = await user();
    const friend = await user();
    const nobody = { accountId: personal(), id: personal() };
    expect(outcome(await apply('nobodys', nobody))).toStrictEqual(
      refusal(404, 'REFERRAL_CODE_NOT_FOUND'),
    );
    expect(outcome(await apply('not a code', friend))).toStrictEqual(
      refusal(404, 'REFERRAL_CODE_NOT_FOUND'),
    );
    expect(outcome(await apply(owner.code, nobody))).toStrictEqual(
      refusal(404, 'USER_NOT_FOUND', 'RS042'),
    );
    expect(outcome(await apply(owner.code, { ...friend, id: personal() }))).toStrictEqual(
      refusal(404, 'USER_NOT_FOUND', 'RS042'),
    );
    expect(outcome(await apply(owner.code, owner))).toStrictEqual(refusal(400, 'SELF_REFERRAL'));
    const colleague = await user({}, owner.accountId);
    expect(outcome(await apply(owner.code, colleague))).toStrictEqual(
      refusal(400, 'SELF_REFERRAL'),
    );
    const shy = await user({ referable: false });
    expect(outcome(await apply(owner.code, shy))).toStrictEqual(refusal(400, 'NOT_REFERABLE'));
    const paid = await user({ referable: false }, await account({ subscription: PAID }));
    expect(outcome(await apply(owner.code, paid))).toStrictEqual(refusal(400, 'NOT_ATTRIBUTABLE'));
    expect((await apply(owner.code, friend)).status).toBe(200);
    await api.post('/accountsync', { id: friend.accountId, subscription: PAID });
    expect(outcome(await apply(owner.code, friend))).toStrictEqual(
      refusal(400, 'ALREADY_REFERRED'),
    );
    expect(outcome(await apply(friend.code, friend))).toStrictEqual(refusal(400, 'SELF_REFERRAL'));
    await api.post(`${owner.at}/block`);
    expect(outcome(await apply(owner.code, await user()))).toStrictEqual(
      refusal(404, 'REFERRAL_CODE_NOT_FOUND'),
    );
  });
});

describe('tenants and modes', () => {
  test('have nothing in common', async () => {
    const other = await running.service.createTenant();
    const [id, accountId, code] = [personal(), personal(), personal('sh')];
    for (const client of [api, tenant.test, other.live]) {
      await client.post('/accountsync', { id: accountId, subscription: TRIAL });
      const { body } = await client.post('/user', {
        id,
        accountId,
        referralCode: code,
        paymentProviderId: code,
      });
      const mode = client === tenant.test ? 'test' : 'live';
      expect(body).toStrictEqual(
        expectedUser(
          { tenant: client.tenant, mode, id, accountId, code },
          { paymentProviderId: code },
        ),
      );
    }
    const person = `/account${path(accountId)}/user${path(id)}`;
    const reward = await api.post(`/rewards${person}`, {
      type: 'CREDIT',
      unit: 'CENTS',
      assignedCredit: 5,
    });
    const friend = await user({ referredBy: { code } });
    const { referrals } = (
      await api.get<{ referrals: Json[] }>(
        `/referrals${query({ referredAccountId: friend.accountId })}`,
      )
    ).body;
    const referralId = String(referrals[0]!['id']);
    const rewardId = String(reward.body['id']);
    for (const client of [tenant.test, other.live, other.test]) {
      expect(outcome(await client.get(friend.at))).toStrictEqual(
        refusal(404, 'USER_NOT_FOUND', 'RS042'),
      );
      expect(outcome(await client.get(`/account${path(friend.accountId)}`))).toStrictEqual(
        refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
      );
      expect(outcome(await client.get(`/code${path(friend.code)}`))).toStrictEqual(
        refusal(404, 'REFERRAL_CODE_NOT_FOUND'),
      );
      expect(outcome(await client.get(`/referrals/${referralId}`))).toStrictEqual(
        refusal(404, 'REFERRAL_NOT_FOUND'),
      );
      expect(outcome(await client.get(`/reward/${rewardId}`))).toStrictEqual(
        refusal(404, 'REWARD_NOT_FOUND'),
      );
      expect(outcome(await client.post(`/reward/${rewardId}/cancel`))).toStrictEqual(
        refusal(404, 'REWARD_NOT_FOUND'),
      );
      expect(
        outcome(await client.post(`/credit/${rewardId}/redeem`, { amount: 1, unit: 'CENTS' })),
      ).toStrictEqual(refusal(404, 'REWARD_NOT_FOUND'));
      expect(
        outcome(
          await client.post('/referrals/moderate', { actions: [{ referralId, action: 'DENIED' }] }),
        ),
      ).toStrictEqual(refusal(400, 'MODERATION_NOT_POSSIBLE'));
      expect((await client.get('/referrals')).body['totalCount']).toBe(0);
      expect((await client.get(`/reward${query({ accountId })}`)).body).toStrictEqual([]);
      expect(
        outcome(
          await client.post('/credit/bulkredeem', {
            accountId: friend.accountId,
            amount: 1,
            unit: 'CENTS',
          }),
        ),
      ).toStrictEqual(refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'));
    }
    expect((await api.get(`/reward/${rewardId}`)).body).toStrictEqual(reward.body);
  });
});
