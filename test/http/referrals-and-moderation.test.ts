import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import { aPerson, PAID, type Person } from '../support/people.js';
import {
  useSharedService,
  type TestTenant,
  expectRefusal,
  expectAnswer,
} from '../support/running-service.js';

const running = useSharedService();

type Friend = Person & { readonly referralId: string };

type Referral = Json & {
  readonly id: string;
  readonly dateReferralStarted: number;
  readonly dateReferralPaid: number | null;
  readonly dateReferralEnded: number | null;
  readonly dateModerated: number;
  readonly referredReward: (Json & { readonly id: string }) | null;
  readonly referrerReward: (Json & { readonly id: string }) | null;
};

/** What can happen in one mode of one tenant. */
class Scene {
  constructor(readonly api: ApiClient) {}

  person(more: Json = {}, account: Json = {}): Promise<Person> {
    return aPerson(this.api, more, account);
  }

  async friendOf(referrer: Person): Promise<Friend> {
    const friend = await this.person({}, { referral: { code: referrer.code } });
    const { body } = await this.api.get<{ referrals: Referral[] }>(
      `/referrals${query({ referredAccountId: friend.accountId })}`,
    );
    return { ...friend, referralId: body.referrals[0]!.id };
  }

  subscribe({ accountId }: Person, subscription: Json) {
    return this.api.post('/accountsync', { id: accountId, subscription });
  }

  async referral(id: string): Promise<Referral> {
    const { status, body } = await this.api.get<Referral>(`/referrals${path(id)}`);
    expect(status).toBe(200);
    return body;
  }

  async ids(
    filter: Record<string, string | number>,
  ): Promise<{ readonly ids: string[]; readonly totalCount: number }> {
    const { status, body } = await this.api.get<{
      count: number;
      totalCount: number;
      referrals: Referral[];
    }>(`/referrals${query(filter)}`);
    expect([status, body.count]).toStrictEqual([200, body.referrals.length]);
    return { ids: body.referrals.map(({ id }) => id), totalCount: body.totalCount };
  }

  moderate(...actions: readonly (readonly [string, string])[]) {
    return this.api.post('/referrals/moderate', {
      actions: actions.map(([referralId, action]) => ({ referralId, action })),
    });
  }
}

const tenantWith = (program?: Json): Promise<TestTenant> =>
  running.service.createTenant(
    program === undefined ? {} : { program: { id: 'default', ...program } },
  );

test('a list of referrals is filtered and in pages', async () => {
  const scene = new Scene((await tenantWith()).live);
  const [ann, eve] = [await scene.person(), await scene.person()];
  const [first, second, third] = [
    await scene.friendOf(ann),
    await scene.friendOf(eve),
    await scene.friendOf(ann),
  ];
  await scene.subscribe(second, PAID);
  await scene.subscribe(third, { status: 'CANCELLED' });
  await scene.moderate(
    [first.referralId, 'REFERRED_DENIED'],
    [second.referralId, 'REFERRER_DENIED'],
  );
  const { ids } = await scene.ids({});
  const { dateReferralPaid } = await scene.referral(second.referralId);
  const { dateReferralEnded, dateReferralStarted } = await scene.referral(third.referralId);
  const found: readonly (readonly [string, string, readonly Friend[]])[] = [
    ['referringAccountId', ann.accountId, [first, third]],
    ['referringUserId', eve.id, [second]],
    ['referredAccountId', first.accountId, [first]],
    ['referredUserId', third.id, [third]],
    ['referredModerationStatus', 'DENIED', [first]],
    ['referrerModerationStatus', 'DENIED', [second]],
    ['dateReferralStarted', `${dateReferralStarted + 1},`, []],
    ['dateReferralPaid', `${dateReferralPaid}`, [second]],
    ['dateReferralEnded', `,${dateReferralEnded}`, [third]],
  ];
  for (const [name, value, friends] of found) {
    const referralIds = friends.map(({ referralId }) => referralId).sort();
    const { ids: shown, totalCount } = await scene.ids({ [name]: value });
    expect([name, shown.sort(), totalCount]).toStrictEqual([name, referralIds, friends.length]);
  }
  expect(await scene.ids({ limit: 1, offset: 1 })).toStrictEqual({
    ids: ids.slice(1, 2),
    totalCount: 3,
  });
  for (const wrong of [
    'dateReferralPaid=1,2,3',
    'limit=1001',
    'limit=1&limit=2',
    'referredModerationStatus=approved',
    `referringUserId=${'x'.repeat(256)}`,
  ])
    expectRefusal(await scene.api.get(`/referrals?${wrong}`), 400, 'BAD_REQUEST');
  for (const id of ['x', '0'.repeat(48), 'a%2Fb', '%00'])
    expectRefusal(await scene.api.get(`/referrals/${id}`), 404, 'REFERRAL_NOT_FOUND');
});

test('a moderation is answered as done when the log becomes unreachable right after it', async () => {
  const scene = new Scene((await tenantWith()).live);
  const referrer = await scene.person();
  const friend = await scene.friendOf(referrer);
  const { log } = running.service.service.core;
  const head = jest.spyOn(log, 'head').mockRejectedValue(new EventLogUnavailable('away'));
  try {
    expectAnswer(await scene.moderate([friend.referralId, 'DENIED']), 200, {});
  } finally {
    head.mockRestore();
  }
  expect(await scene.referral(friend.referralId)).toMatchObject({
    referredModerationStatus: 'DENIED',
  });
});
