import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import {
  errorBody,
  outcome,
  personal,
  refusal,
  shareService,
  type TestTenant,
} from '../support/running-service.js';

let running: Awaited<ReturnType<typeof shareService>>;
beforeAll(async () => {
  running = await shareService();
});
afterAll(() => running.end());

const TRIAL = { status: 'TRIAL' };
const PAID = { status: 'PAID', value: 1, billingIntervalType: 'DAY', billingIntervalValue: 1 };

interface Person {
  readonly accountId: string;
  readonly id: string;
  readonly code: string;
  readonly at: string;
}

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

  async person(more: Json = {}, account: Json = {}): Promise<Person> {
    const [accountId, id] = [personal('acc'), personal('user')];
    await this.api.post('/accountsync', { id: accountId, subscription: TRIAL, ...account });
    const { status, body } = await this.api.post('/user', { id, accountId, ...more });
    expect(status).toBe(200);
    return {
      accountId,
      id,
      code: String(body['referralCode']),
      at: `/account${path(accountId)}/user${path(id)}`,
    };
  }

  async friendOf(referrer: Person): Promise<Person & { readonly referralId: string }> {
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

  async rewards({ accountId }: Person): Promise<(Json & { readonly id: string })[]> {
    return (
      await this.api.get<(Json & { readonly id: string })[]>(`/reward${query({ accountId })}`)
    ).body;
  }
}

const tenantWith = (program?: Json): Promise<TestTenant> =>
  running.service.createTenant(
    program === undefined ? {} : { program: { id: 'default', ...program } },
  );

describe('lists', () => {
  let scene: Scene;
  let referrers: Person[];
  let friends: (Person & { readonly referralId: string })[];
  let all: Referral[];
  beforeAll(async () => {
    scene = new Scene((await tenantWith()).live);
    referrers = [await scene.person(), await scene.person()];
    friends = [];
    for (let n = 0; n < 12; n++)
      friends.push(await scene.friendOf(referrers[n % 3 === 0 ? 1 : 0]!));
    for (const n of [1, 2, 5]) await scene.subscribe(friends[n]!, PAID);
    for (const n of [2, 3]) await scene.subscribe(friends[n]!, { status: 'CANCELLED' });
    await scene.moderate(
      [friends[0]!.referralId, 'DENIED'],
      [friends[1]!.referralId, 'REFERRED_DENIED'],
      [friends[4]!.referralId, 'REFERRER_DENIED'],
    );
    all = (await scene.api.get<{ referrals: Referral[] }>('/referrals?limit=1000')).body.referrals;
  });

  const idsWhere = (fits: (referral: Referral) => boolean): string[] =>
    all.filter(fits).map(({ id }) => id);
  const memberOf = (referral: Referral, side: string, member: string): unknown =>
    (referral[side] as Json)[member];

  test('are newest first, ties by id, and in pages', async () => {
    expect(all).toHaveLength(12);
    const sorted = [...all].sort(
      (a, b) => b.dateReferralStarted - a.dateReferralStarted || (a.id < b.id ? -1 : 1),
    );
    expect(all.map(({ id }) => id)).toStrictEqual(sorted.map(({ id }) => id));
    const ids = all.map(({ id }) => id);
    expect(await scene.ids({})).toStrictEqual({ ids: ids.slice(0, 10), totalCount: 12 });
    expect(await scene.ids({ limit: 5, offset: 10 })).toStrictEqual({
      ids: ids.slice(10),
      totalCount: 12,
    });
    expect(await scene.ids({ limit: 1, offset: 11 })).toStrictEqual({
      ids: ids.slice(11),
      totalCount: 12,
    });
    expect(await scene.ids({ offset: 12 })).toStrictEqual({ ids: [], totalCount: 12 });
    expect(await scene.ids({ limit: 0 })).toStrictEqual({ ids: [], totalCount: 12 });
    expect(await scene.ids({ limit: '', offset: '' })).toStrictEqual({
      ids: ids.slice(0, 10),
      totalCount: 12,
    });
    expect(await scene.ids({ offset: Number.MAX_SAFE_INTEGER })).toStrictEqual({
      ids: [],
      totalCount: 12,
    });
    expect((await scene.api.get('/referrals/')).body['totalCount']).toBe(12);
  });

  test('accept every filter', async () => {
    const [first] = referrers as [Person, Person];
    const friend = friends[2]!;
    const paid = all.find(({ id }) => id === friends[1]!.referralId)!.dateReferralPaid!;
    const ended = all.find(({ id }) => id === friends[3]!.referralId)!.dateReferralEnded!;
    const started = all[6]!.dateReferralStarted;
    const inRange = (value: number | null, from: number, to = Infinity) =>
      value !== null && value >= from && value <= to;
    const filters: [string, string, (referral: Referral) => boolean][] = [
      [
        'referringAccountId',
        first.accountId,
        (referral) => memberOf(referral, 'referrerUser', 'accountId') === first.accountId,
      ],
      [
        'referringUserId',
        first.id,
        (referral) => memberOf(referral, 'referrerUser', 'id') === first.id,
      ],
      [
        'referredAccountId',
        friend.accountId,
        (referral) => memberOf(referral, 'referredUser', 'accountId') === friend.accountId,
      ],
      [
        'referredUserId',
        friend.id,
        (referral) => memberOf(referral, 'referredUser', 'id') === friend.id,
      ],
      [
        'referredModerationStatus',
        'APPROVED',
        (referral) => referral['referredModerationStatus'] === 'APPROVED',
      ],
      [
        'referrerModerationStatus',
        'DENIED',
        (referral) => referral['referrerModerationStatus'] === 'DENIED',
      ],
      [
        'dateReferralStarted',
        `${started},`,
        (referral) => inRange(referral.dateReferralStarted, started),
      ],
      ['dateReferralPaid', `${paid}`, (referral) => referral.dateReferralPaid === paid],
      [
        'dateReferralEnded',
        `,${ended}`,
        (referral) => inRange(referral.dateReferralEnded, 0, ended),
      ],
    ];
    for (const [name, value, fits] of filters) {
      const found = idsWhere(fits);
      expect(found.length).toBeGreaterThan(0);
      expect([name, await scene.ids({ [name]: value, limit: 100 })]).toStrictEqual([
        name,
        { ids: found, totalCount: found.length },
      ]);
    }
  });

  test.each([
    ['dateReferralStarted', 'yesterday'],
    ['dateReferralPaid', '1,2,3'],
    ['dateReferralEnded', '2026-02-30'],
    ['limit', '1001'],
    ['limit', '-1'],
    ['limit', '1.5'],
    ['limit', 'ten'],
    ['limit', '0x10'],
    ['limit', '9007199254740993'],
    ['offset', '-1'],
    ['offset', '1e2'],
    ['offset', '9007199254740992'],
    ['referredModerationStatus', 'approved'],
    ['referrerModerationStatus', 'ACTIONED'],
    ['referringUserId', 'x'.repeat(256)],
  ])('refuse %s=%s', async (name, value) => {
    expect(outcome(await scene.api.get(`/referrals${query({ [name]: value })}`))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });

  test.each([
    'limit=1&limit=2',
    'dateReferralPaid=1&dateReferralPaid=2',
    'referringUserId=a&referringUserId=b',
  ])('refuse %s', async (twice) => {
    expect(outcome(await scene.api.get(`/referrals?${twice}`))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });

  test.each([
    'x',
    'moderat',
    '0'.repeat(48),
    'a%2Fb',
    '%20',
    '%F0%9F%98%80',
    '%00',
    'x'.repeat(2000),
  ])('of GET /referrals/%s have no such referral', async (id) => {
    expect(outcome(await scene.api.get(`/referrals/${id}`))).toStrictEqual(
      refusal(404, 'REFERRAL_NOT_FOUND'),
    );
  });
});

describe('lists of users', () => {
  test('are searched, newest first, in pages', async () => {
    const scene = new Scene((await tenantWith()).live);
    const [ann, , zoe] = [
      await scene.person({ firstName: 'Ann', lastName: 'Lee' }),
      await scene.person(),
      await scene.person({ firstName: 'Zoe', lastName: 'Lee' }),
    ];
    const find = async (parameters: string) => {
      const { body } = await scene.api.get<{ users: Json[] }>(`/users${parameters}`);
      return { ...body, users: body.users.map(({ id }) => id) };
    };
    expect(await find('?query=LEE')).toStrictEqual({
      count: 2,
      totalCount: 2,
      users: [zoe.id, ann.id],
    });
    expect(await find('?limit=1&offset=2')).toStrictEqual({
      count: 1,
      totalCount: 3,
      users: [ann.id],
    });
    for (const wrong of ['query=%00', 'query=a&query=b', 'limit=1001'])
      expect(outcome(await scene.api.get(`/users?${wrong}`))).toStrictEqual(
        refusal(400, 'BAD_REQUEST'),
      );
  });
});

describe('moderation', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = new Scene((await tenantWith()).live);
  });

  /** A referral that is converted: both sides have their reward. */
  async function converted() {
    const referrer = await scene.person();
    const friend = await scene.friendOf(referrer);
    await scene.subscribe(friend, PAID);
    return { referrer, friend, id: friend.referralId };
  }

  const statuses = ({
    moderationStatus,
    referredModerationStatus,
    referrerModerationStatus,
  }: Json) => [moderationStatus, referredModerationStatus, referrerModerationStatus];
  const cancelled = ({ referredReward, referrerReward }: Referral) => [
    referredReward?.['dateCancelled'] != null,
    referrerReward?.['dateCancelled'] != null,
  ];

  test.each([
    ['DENIED', ['DENIED', 'DENIED'], [true, true]],
    ['REFERRED_DENIED', ['DENIED', 'APPROVED'], [true, false]],
    ['REFERRER_DENIED', ['APPROVED', 'DENIED'], [false, true]],
  ])('changes %s, and back', async (action, sides, cancellations) => {
    const { id } = await converted();
    const before = await scene.referral(id);
    const answer = await scene.moderate([id, action]);
    expect(outcome(answer)).toStrictEqual({ status: 200, body: {} });
    const after = await scene.referral(id);
    expect(statuses(after)).toStrictEqual(['ACTIONED', ...sides]);
    expect(cancelled(after)).toStrictEqual(cancellations);
    // Also an action that changed nothing was one.
    expect(after.dateModerated).toBeGreaterThan(before.dateModerated);
    expect((await scene.moderate([id, 'APPROVED'])).status).toBe(200);
    const back = await scene.referral(id);
    expect({ ...back, dateModerated: 0 }).toStrictEqual({ ...before, dateModerated: 0 });
    expect(back.dateModerated).toBeGreaterThanOrEqual(after.dateModerated);
  });

  test('accepts several actions at once; of several on one side the last counts', async () => {
    const referrer = await scene.person();
    const friends = [
      await scene.friendOf(referrer),
      await scene.friendOf(referrer),
      await scene.friendOf(referrer),
    ];
    const [a, b, c] = friends.map(({ referralId }) => referralId) as [string, string, string];
    expect(
      (
        await scene.moderate(
          [a, 'DENIED'],
          [b, 'REFERRER_DENIED'],
          [a, 'REFERRED_APPROVED'],
          [c, 'DENIED'],
          [c, 'APPROVED'],
        )
      ).status,
    ).toBe(200);
    const [first, second, third] = await Promise.all([a, b, c].map((id) => scene.referral(id)));
    expect([first, second, third].map((referral) => statuses(referral!))).toStrictEqual([
      ['ACTIONED', 'APPROVED', 'DENIED'],
      ['ACTIONED', 'APPROVED', 'DENIED'],
      ['ACTIONED', 'APPROVED', 'APPROVED'],
    ]);
    for (const friend of friends) await scene.subscribe(friend, PAID);
    expect(await scene.rewards(referrer)).toHaveLength(1);
    // Approved late: what was earned meanwhile is given now, and visible at once.
    await scene.moderate([a, 'REFERRER_APPROVED'], [b, 'REFERRER_APPROVED']);
    expect(await scene.rewards(referrer)).toHaveLength(3);
    await scene.moderate([a, 'REFERRER_APPROVED'], [b, 'APPROVED']);
    expect(await scene.rewards(referrer)).toHaveLength(3);
  });

  test('is all or nothing, with one reason a line that begins with the id', async () => {
    const one = await converted();
    const spent = await converted();
    const [reward] = await scene.rewards(spent.referrer);
    await scene.api.post(`/credit/${reward!.id}/redeem`, { amount: 1, unit: 'CENTS' });
    const before = await scene.referral(one.id);
    const refused = await scene.moderate(
      [one.id, 'DENIED'],
      [spent.id, 'DENIED'],
      [spent.friend.referralId, 'REFERRED_DENIED'],
    );
    expect(outcome(refused)).toStrictEqual({
      status: 400,
      body: {
        ...errorBody(400, 'MODERATION_NOT_POSSIBLE'),
        validationErrors: [expect.stringMatching(`^${spent.id}`)],
      },
    });
    const unknown = await scene.moderate(
      [one.id, 'DENIED'],
      ['nobody', 'DENIED'],
      ['0'.repeat(48), 'APPROVED'],
    );
    expect(outcome(unknown)).toStrictEqual({
      status: 400,
      body: {
        ...errorBody(400, 'MODERATION_NOT_POSSIBLE'),
        validationErrors: [expect.stringMatching(/^nobody/), expect.stringMatching(/^0{48}/)],
      },
    });
    expect(await scene.referral(one.id)).toStrictEqual(before);
    // Nothing stays held.
    const [free] = await scene.rewards(one.referrer);
    expect(
      (await scene.api.post(`/credit/${free!.id}/redeem`, { amount: 1, unit: 'CENTS' })).status,
    ).toBe(200);
    // The side whose reward was not touched can still be denied.
    expect((await scene.moderate([spent.id, 'REFERRED_DENIED'])).status).toBe(200);
  });

  // Every bad body: `test/http-edge/requests.test.ts`.
  test('is refused when one bad action is among good ones', async () => {
    const actions = [
      { referralId: 'a', action: 'DENIED' },
      { referralId: 'b', action: {} },
    ];
    expect(outcome(await scene.api.post('/referrals/moderate', { actions }))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });

  test('is answered as done when the log becomes unreachable right after it', async () => {
    const referrer = await scene.person();
    const friend = await scene.friendOf(referrer);
    const { log } = running.service.service.core;
    const head = jest.spyOn(log, 'head').mockRejectedValue(new EventLogUnavailable('away'));
    try {
      expect(outcome(await scene.moderate([friend.referralId, 'DENIED']))).toStrictEqual({
        status: 200,
        body: {},
      });
    } finally {
      head.mockRestore();
    }
    expect(await scene.referral(friend.referralId)).toMatchObject({
      referredModerationStatus: 'DENIED',
    });
  });
});
