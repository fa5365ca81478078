import { path, query } from '../support/api-client.js';
import { aPerson, referralOf } from '../support/people.js';
import {
  expectAnswer,
  outcome,
  personal,
  refusal,
  useSharedService,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';
import { userClient } from '../support/user-tokens.js';
import { openOnce } from '../support/opened.js';

const running = useSharedService();
const tenant = useTenant(running);
const api = openOnce(() => tenant.live);

const GONE = { status: 204, body: undefined };
const NO_USER = refusal(404, 'USER_NOT_FOUND', 'RS042');
const NO_ACCOUNT = refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041');

interface Person {
  readonly accountId: string;
  readonly id: string;
  readonly referralCode: string;
  readonly firstName: string;
}
async function aUser(code?: string): Promise<Person> {
  const names = { referralCode: personal('code'), firstName: personal('name') };
  const more = { ...names, lastName: 'Lee', countryCode: 'NZ' };
  const { accountId, id } = await aPerson(
    api,
    more,
    code === undefined ? {} : { referral: { code } },
  );
  return { ...names, accountId, id };
}
const userPath = ({ accountId, id }: Pick<Person, 'accountId' | 'id'>): string =>
  `/account${path(accountId)}/user${path(id)}`;
const remove = (to: string, parameters: Readonly<Record<string, string>> = {}) =>
  api.call('DELETE', `/open${to}${query(parameters)}`);
const balancesOf = async ({ accountId }: Person) =>
  (await api.get(`/reward/balance${query({ accountId })}`)).body;

test('the reservation of a code keeps no plain code of a forgotten person in memory', async () => {
  const ann = await aUser();
  expect(outcome(await remove(userPath(ann)))).toStrictEqual(GONE);
  const { names, streams } = running.service.service.core;
  const { state } = await streams.reservations.load(
    names.codeStream(tenant.scope, ann.referralCode),
  );
  expect(state).toMatchObject({ status: 'held', key: null });
});

test('a forgotten user has no link, and returns as another person, or not at all with do-not-track', async () => {
  const ann = await aUser();
  const { accountId, id, ...fields } = ann;
  const client = userClient(tenant, accountId, id, fields);
  const to = `/open${userPath(ann)}`;
  const link = `${running.service.origin}/s/${tenant.alias}/${ann.referralCode}`;
  expectAnswer(await remove(userPath(ann)), 204, undefined);
  expect(outcome(await client.get(to))).toStrictEqual(NO_USER);
  expect((await fetch(link, { redirect: 'manual' })).status).toBe(404);
  expectRefusal(
    await client.get(`/open/user${query({ referralCode: ann.referralCode })}`),
    404,
    'REFERRAL_CODE_NOT_FOUND',
  );
  expect(await client.post(to, { firstName: ann.firstName })).toMatchObject({
    status: 201,
    body: { id, firstName: ann.firstName, lastName: null },
  });
  const forGood = { preserveEmptyAccount: 'false', doNotTrack: 'true' };
  expectAnswer(await remove(userPath(ann), forGood), 204, undefined);
  for (const method of ['PUT', 'POST'])
    expectRefusal(await client.call(method, to, {}), 400, 'DO_NOT_TRACK', 'RS050');
  // What the token may write is checked first.
  expectRefusal(await client.put(to, { lastName: 'Lee' }), 403, 'FORBIDDEN');
  expect(outcome(await api.get(`/account${path(accountId)}`))).toStrictEqual(NO_ACCOUNT);
});

test('the record of a person is complete, and each read of it is recorded', async () => {
  const ann = await aUser();
  const bob = await aUser(ann.referralCode);
  const { core } = running.service.service;
  const { body: user } = await api.get(userPath(bob));
  const { body: record } = await api.get(`${userPath(bob)}/pii`);
  const { referredBy, referredByCodes, referralCodes, programShareLinks, ...shown } = user;
  expect([referredBy, referredByCodes, referralCodes, programShareLinks]).not.toContain(undefined);
  expect(record).toStrictEqual({
    ...shown,
    lastInitial: 'L',
    firstSeenIPLocation: null,
    lastSeenIPLocation: null,
    firstSeenUserAgent: null,
    lastSeenUserAgent: null,
    referredByReferral: await referralOf(api, bob.accountId),
    rewards: {
      totalCount: 1,
      data: (await api.get(`/reward${query({ accountId: bob.accountId })}`)).body,
    },
    rewardBalances: await balancesOf(bob),
    referrals: { totalCount: 0, data: [] },
  });
  expect((await api.get(`${userPath(ann)}/pii`)).body).toMatchObject({
    referredByReferral: null,
    referrals: { totalCount: 1, data: [await referralOf(api, bob.accountId)] },
  });
  expect(outcome(await api.get(`${userPath({ ...bob, id: 'missing' })}/pii`))).toStrictEqual(
    NO_USER,
  );

  const stream = core.names.auditStream(
    tenant.scope,
    core.names.accountRef(tenant.scope, bob.accountId),
  );
  const looks = [];
  for await (const event of core.log.readStream(stream)) looks.push(event);
  expect(looks.map(({ type }) => type)).toStrictEqual(['PersonalDataViewed']);
  expect(looks[0]?.metadata).toContain('"actor":{"kind":"api-key","id":"live-');
  for (const text of Object.values(bob))
    expect(`${looks[0]?.stream}${looks[0]?.data}${looks[0]?.metadata}`).not.toContain(text);
});

test('a wrong request is refused, and nothing is forgotten', async () => {
  const ann = await aUser();
  const wrong: readonly Readonly<Record<string, string>>[] = [
    { doNotTrack: 'yes' },
    { preserveEmptyAccount: '' },
  ];
  for (const parameters of wrong)
    expectRefusal(await remove(userPath(ann), parameters), 400, 'BAD_REQUEST');
  expect(outcome(await tenant.test.call('DELETE', `/open${userPath(ann)}`))).toStrictEqual(NO_USER);
  expect((await api.get(userPath(ann))).status).toBe(200);
});
