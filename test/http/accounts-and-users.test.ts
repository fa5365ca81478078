import { path, query, type Answer, type ApiClient, type Json } from '../support/api-client.js';
import { expectedUser } from '../support/expected-answers.js';
import { aPerson, TRIAL, type Person } from '../support/people.js';
import {
  outcome,
  personal,
  refusal,
  useSharedService,
  type TestTenant,
} from '../support/running-service.js';

const running = useSharedService();
let tenant: TestTenant;
let api: ApiClient;
beforeAll(async () => {
  tenant = await running.service.createTenant();
  api = tenant.live;
});

async function account(more: Json = {}): Promise<string> {
  const id = personal('acc');
  expect((await api.post('/accountsync', { id, subscription: TRIAL, ...more })).status).toBe(200);
  return id;
}

const user = (more: Json = {}, inAccount: Json = {}): Promise<Person> =>
  aPerson(api, more, inAccount);
const apply = (code: string, { accountId, id }: Pick<Person, 'accountId' | 'id'>) =>
  api.post(`/open/code${path(code)}/account${path(accountId)}/user${path(id)}`);

describe('codes', () => {
  test('are the same with white space around them, wherever they are sent', async () => {
    const code = `B${String(Date.now()).slice(-9)}`;
    const pasted = `\u00A0${code}\t`;
    const owner = await user({ referralCode: pasted });
    expect(owner.code).toBe(code);
    const encoded = encodeURIComponent(pasted);
    for (const found of [
      `/code/${encoded}`,
      `/user?referralCode=${encoded}`,
      `/discount/${encoded}`,
    ])
      expect((await api.get(found)).status).toBe(200);
    const [friend, other, last] = [await user(), await user(), await user()];
    expect((await apply(pasted, friend)).body).toMatchObject({ code });
    const updated = await api.post('/user', { ...other, referredBy: { code: pasted } });
    expect(updated.body['referredByCodes']).toStrictEqual([code]);
    const coupon = { accountId: last.accountId, paymentProviderId: personal(), couponCode: pasted };
    expect((await api.post('/discount', coupon)).status).toBe(200);
    const referral = await account({ referral: { code: pasted } });
    expect((await api.get(`/account/${referral}`)).body['referral']).toStrictEqual({ code });
  });

  test('in the cookies of a visitor attribute the user, unless they have expired', async () => {
    const [owner, other] = [await user(), await user()];
    const cookies = (codes: Json, codesExp?: Json): string => {
      const content = { [`${tenant.alias}_CODE`]: { codes, codesExp } };
      const json = JSON.stringify({ 'app.referralsaasquatch.com': content });
      return Buffer.from(json).toString('base64url');
    };
    const soon = Date.now() + 60_000;
    const referredWith = async (more: Json) =>
      (await api.get((await user(more)).at)).body['referredByCodes'];
    const both = { other: other.code, default: owner.code };
    expect(await referredWith({ cookies: cookies(both) })).toStrictEqual([owner.code]);
    expect(
      await referredWith({ cookies: cookies(both, { [owner.code]: 1, [other.code]: soon }) }),
    ).toStrictEqual([other.code]);
    expect(
      await referredWith({ cookies: cookies(both), referredByCodes: [other.code] }),
    ).toStrictEqual([other.code]);
    for (const wrong of [cookies({ default: 7 }), cookies({}), 'x', 7, null, 'bnVsbA'])
      expect(await referredWith({ cookies: wrong })).toStrictEqual([]);
    const accountId = personal();
    const open = `/open/account/${accountId}/user/${accountId}`;
    const created = await api.post(open, { cookies: cookies(both) });
    expect(created.body['referredByCodes']).toStrictEqual([owner.code]);
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
    const moderation = { actions: [{ referralId, action: 'DENIED' }] };
    const redemption = { amount: 1, unit: 'CENTS' };
    const bulk = { accountId: friend.accountId, ...redemption };
    for (const client of [tenant.test, other.live, other.test]) {
      const asked: readonly (readonly [Promise<Answer>, ReturnType<typeof refusal>])[] = [
        [client.get(friend.at), refusal(404, 'USER_NOT_FOUND', 'RS042')],
        [client.get(`/account/${friend.accountId}`), refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041')],
        [
          client.get(`/account/${friend.accountId}/reward`),
          refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
        ],
        [client.get(`/code/${friend.code}`), refusal(404, 'REFERRAL_CODE_NOT_FOUND')],
        [client.get(`/referrals/${referralId}`), refusal(404, 'REFERRAL_NOT_FOUND')],
        [client.get(`/reward/${rewardId}`), refusal(404, 'REWARD_NOT_FOUND')],
        [client.post(`/reward/${rewardId}/cancel`), refusal(404, 'REWARD_NOT_FOUND')],
        [client.post(`/credit/${rewardId}/redeem`, redemption), refusal(404, 'REWARD_NOT_FOUND')],
        [client.post('/referrals/moderate', moderation), refusal(400, 'MODERATION_NOT_POSSIBLE')],
        [client.post('/credit/bulkredeem', bulk), refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041')],
      ];
      for (const [answer, expected] of asked) expect(outcome(await answer)).toStrictEqual(expected);
      expect((await client.get('/referrals')).body['totalCount']).toBe(0);
      for (const list of ['/reward', '/reward/balance'])
        expect((await client.get(`${list}${query({ accountId })}`)).body).toStrictEqual([]);
    }
    expect((await api.get(`/reward/${rewardId}`)).body).toStrictEqual(reward.body);
  });
});
