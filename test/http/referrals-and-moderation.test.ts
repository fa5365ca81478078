import { randomUUID } from 'node:crypto';
import { openStreams } from '../../src/command-handling/streams.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { emptyProfile } from '../../src/domain/account/identify-user.js';
import { personal as personalValue } from '../../src/domain/personal.js';
import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import {
  anId,
  aTime,
  creditBalance,
  expectedCredit,
  expectedPercent,
} from '../support/expected-answers.js';
import {
  errorBody,
  outcome,
  personal,
  refusal,
  startWithStores,
  type TestTenant,
} from '../support/running-service.js';
import { acceptClockOf } from '../support/turn-back-clock.js';

let running: Awaited<ReturnType<typeof startWithStores>>;
const now = Date.now.bind(Date);
// Before the service starts: whoever asks for the time later asks this one.
const clock = jest.spyOn(Date, 'now').mockImplementation(now);
beforeAll(async () => {
  running = await startWithStores();
});
afterAll(() => running.end());

const TRIAL = { status: 'TRIAL' };
const PAID = { status: 'PAID', value: 1, billingIntervalType: 'DAY', billingIntervalValue: 1 };
const DAY_MS = 24 * 60 * 60 * 1000;

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

  test('accept every filter alone and with every other', async () => {
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
    for (const [index, [name, value, fits]] of filters.entries()) {
      const found = idsWhere(fits);
      expect(found.length).toBeGreaterThan(0);
      expect([name, await scene.ids({ [name]: value, limit: 100 })]).toStrictEqual([
        name,
        { ids: found, totalCount: found.length },
      ]);
      for (const [otherName, otherValue, otherFits] of filters.slice(index + 1)) {
        const both = idsWhere((referral) => fits(referral) && otherFits(referral));
        const asked = { [name]: value, [otherName]: otherValue, limit: 100 };
        expect([asked, await scene.ids(asked)]).toStrictEqual([
          asked,
          { ids: both, totalCount: both.length },
        ]);
      }
    }
    const three = {
      referringAccountId: first.accountId,
      referredModerationStatus: 'APPROVED',
      referrerModerationStatus: 'APPROVED',
    };
    const fitting = idsWhere(
      (referral) =>
        [filters[0]!, filters[4]!].every(([, , fits]) => fits(referral)) &&
        referral['referrerModerationStatus'] === 'APPROVED',
    );
    expect(await scene.ids({ ...three, limit: 2 })).toStrictEqual({
      ids: fitting.slice(0, 2),
      totalCount: fitting.length,
    });
  });

  test('are empty for an unknown id, and complete for an empty filter', async () => {
    for (const name of [
      'referringAccountId',
      'referringUserId',
      'referredAccountId',
      'referredUserId',
    ]) {
      expect(await scene.ids({ [name]: personal() })).toStrictEqual({ ids: [], totalCount: 0 });
      expect((await scene.ids({ [name]: '' })).totalCount).toBe(12);
    }
    expect(await scene.ids({ referredModerationStatus: 'PENDING' })).toStrictEqual({
      ids: [],
      totalCount: 0,
    });
  });

  test('filter by dates that are exact, open on either side, ISO or reversed', async () => {
    const times = all.map(({ dateReferralStarted }) => dateReferralStarted);
    const [newest, oldest, middle] = [times[0]!, times.at(-1)!, times[5]!];
    const iso = (time: number) => new Date(time).toISOString();
    const between = (from: number, to: number) =>
      idsWhere(({ dateReferralStarted: time }) => time >= from && time <= to);
    const cases: [string, string[]][] = [
      [`${middle}`, between(middle, middle)],
      [iso(middle), between(middle, middle)],
      [`${oldest},${middle}`, between(oldest, middle)],
      [`${iso(oldest)},${iso(middle)}`, between(oldest, middle)],
      [`${iso(middle).replace('Z', '+00:00')},`, between(middle, Infinity)],
      [`${middle}, ${newest}`, between(middle, newest)],
      [`,${middle}`, between(-Infinity, middle)],
      [',', between(-Infinity, Infinity)],
      ['', between(-Infinity, Infinity)],
      [`${newest + 1},`, []],
      [`${newest},${oldest - 1}`, []],
      [iso(oldest).slice(0, 10) + ',', between(-Infinity, Infinity)],
      ['2001-02-03', []],
    ];
    for (const [text, ids] of cases) {
      expect([text, await scene.ids({ dateReferralStarted: text, limit: 100 })]).toStrictEqual([
        text,
        { ids, totalCount: ids.length },
      ]);
    }
    expect((await scene.ids({ dateReferralPaid: ',', limit: 100 })).ids).toHaveLength(12);
    expect((await scene.ids({ dateReferralPaid: '0,', limit: 100 })).ids).toHaveLength(3);
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

  test('refuse a control character', async () => {
    expect(outcome(await scene.api.get('/referrals?referredAccountId=%00'))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });

  test('ignore unknown parameters', async () => {
    expect(
      (await scene.api.get('/referrals?foo=1&foo=2&__proto__=3&constructor=4&limit=0')).body,
    ).toStrictEqual({
      count: 0,
      totalCount: 12,
      referrals: [],
    });
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

/**
 * Straight into the log, in a few appends: a thousand calls for one account would take their time.
 */
async function identifyUsers(tenant: string, accountId: string, number: number): Promise<void> {
  const { names, log, codec } = running.service.service.core;
  const streams = openStreams(log, codec);
  const scope = { tenant, mode: 'live' as const };
  const stream = names.accountStream(scope, names.accountRef(scope, accountId));
  for (let from = 0; from < number; from += 250) {
    const cause = randomUUID();
    const meta = {
      scope,
      commandId: cause,
      correlationId: cause,
      causationId: cause,
      actor: { kind: 'system' as const, id: 'test' },
      idempotency: null,
    };
    const events = Array.from({ length: 250 }, (_, n): AccountEvent => {
      const person = randomUUID();
      const profile = {
        ...emptyProfile(`${accountId}-${from + n}`),
        firstName: `Number ${from + n}`,
      };
      return {
        type: 'UserIdentified',
        at: Date.now() - number + from + n,
        person,
        profile: personalValue(person, profile),
      };
    });
    await streams.accounts.handle(stream, meta, () => ({ events }));
  }
}

describe('lists of users', () => {
  test('are searched by parts of address, names and id, newest first', async () => {
    const scene = new Scene((await tenantWith()).live);
    const [a, b, c] = [
      await scene.person({
        email: `${personal('Zoe')}@Mail.example`,
        firstName: 'Zoë',
        lastName: 'Percent100%',
      }),
      await scene.person({ firstName: 'Under_score', lastName: 'Back\\slash' }),
      await scene.person({ firstName: 'Zoe', lastName: "O'Neil" }),
    ] as const;
    const find = async (text: string) => {
      const { body } = await scene.api.get<{ count: number; totalCount: number; users: Json[] }>(
        `/users${query({ query: text })}`,
      );
      expect(body.count).toBe(body.users.length);
      expect(body.totalCount).toBe(body.users.length);
      return body.users.map(({ id }) => id);
    };
    expect(await find('')).toStrictEqual([c.id, b.id, a.id]);
    expect(await find('ZOE')).toStrictEqual([c.id, a.id]);
    expect(await find('mail.EXAMPLE')).toStrictEqual([a.id]);
    expect(await find('zoë percent')).toStrictEqual([a.id]);
    expect(await find("o'neil")).toStrictEqual([c.id]);
    expect(await find(b.id.toUpperCase())).toStrictEqual([b.id]);
    expect(await find('100%')).toStrictEqual([a.id]);
    expect(await find('r_s')).toStrictEqual([b.id]);
    expect(await find('k\\s')).toStrictEqual([b.id]);
    for (const none of ['_x', "';--", 'example Zoë', 'x'.repeat(3000)])
      expect(await find(none)).toStrictEqual([]);
    expect(await find('%')).toStrictEqual([a.id]);
    expect(outcome(await scene.api.get('/users?query=%00'))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    expect(outcome(await scene.api.get('/users?query=a&query=b'))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    expect(outcome(await scene.api.get('/users?limit=1001'))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    expect((await scene.api.get('/users?limit=0')).body).toStrictEqual({
      count: 0,
      totalCount: 3,
      users: [],
    });
    expect(
      (await scene.api.get<{ users: Json[] }>('/users?limit=1&offset=1')).body.users.map(
        ({ id }) => id,
      ),
    ).toStrictEqual([b.id]);
  });

  test('show at most a thousand users, the maximum of an account', async () => {
    const { api } = new Scene((await tenantWith()).live);
    const accountId = personal('acc');
    await api.post('/accountsync', { id: accountId, subscription: TRIAL });
    await identifyUsers(api.tenant, accountId, 1000);
    const one = { accountId, id: `${accountId}-more` };
    expect(outcome(await api.post('/user', one))).toStrictEqual(
      refusal(400, 'TOO_MANY_USERS', 'RS013'),
    );
    expect(
      (await api.post('/user', { accountId, id: `${accountId}-7`, firstName: 'Still' })).status,
    ).toBe(200);
    await api.post('/accountsync', { id: personal('acc'), subscription: TRIAL });
    const { body } = await api.get<{ count: number; totalCount: number; users: Json[] }>(
      '/users?limit=1000&offset=1',
    );
    expect([
      body.count,
      body.totalCount,
      new Set(body.users.map(({ id }) => id)).size,
    ]).toStrictEqual([999, 1000, 999]);
    const dates = body.users.map(({ dateCreated }) => Number(dateCreated));
    expect(dates).toStrictEqual([...dates].sort((x, y) => y - x));
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
    ['APPROVED', ['APPROVED', 'APPROVED'], [false, false]],
    ['REFERRED_APPROVED', ['APPROVED', 'APPROVED'], [false, false]],
    ['REFERRER_APPROVED', ['APPROVED', 'APPROVED'], [false, false]],
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

  test('leaves a reward cancelled that was cancelled by request, and denies its side', async () => {
    const { id, referrer } = await converted();
    const [reward] = await scene.rewards(referrer);
    await scene.api.post(`/reward/${reward!.id}/cancel`);
    for (const action of ['REFERRER_DENIED', 'REFERRER_APPROVED']) {
      expect((await scene.moderate([id, action])).status).toBe(200);
      expect((await scene.referral(id)).referrerReward).toMatchObject({
        id: reward!.id,
        dateCancelled: aTime,
      });
    }
    const other = await converted();
    await scene.moderate([other.id, 'REFERRER_DENIED']);
    const [denied] = await scene.rewards(other.referrer);
    expect((await scene.api.post(`/reward/${denied!.id}/cancel`)).body).toStrictEqual(denied);
    await scene.moderate([other.id, 'REFERRER_APPROVED']);
    expect((await scene.referral(other.id)).referrerReward).toStrictEqual(denied);
  });

  test('takes denied credit from the balance', async () => {
    const { id, referrer } = await converted();
    await scene.moderate([id, 'DENIED']);
    const [reward] = await scene.rewards(referrer);
    const noCredit = refusal(400, 'INVALD_REWARD_REDEMPTION');
    expect(
      outcome(await scene.api.post(`/credit/${reward!.id}/redeem`, { amount: 1, unit: 'CENTS' })),
    ).toStrictEqual(noCredit);
    expect(
      outcome(
        await scene.api.post('/credit/bulkredeem', {
          accountId: referrer.accountId,
          amount: 1,
          unit: 'CENTS',
        }),
      ),
    ).toStrictEqual(noCredit);
    expect(
      (await scene.api.get(`/reward/balance${query({ accountId: referrer.accountId })}`)).body,
    ).toStrictEqual([creditBalance('CENTS', { count: 0, cancelled: 1000 })]);
  });

  test('at the same time as a redemption: one of them wins, and the books agree', async () => {
    for (let round = 0; round < 5; round++) {
      const { id, referrer } = await converted();
      const [reward] = await scene.rewards(referrer);
      const [denied, spent] = await Promise.all([
        scene.moderate([id, 'DENIED']),
        scene.api.post(`/credit/${reward!.id}/redeem`, { amount: 1000, unit: 'CENTS' }),
      ]);
      expect([denied.status, spent.status].sort()).toStrictEqual([200, 400]);
      const left =
        spent.status === 200 ? { count: 1, redeemed: 1000 } : { count: 0, cancelled: 1000 };
      expect(
        (await scene.api.get(`/reward/balance${query({ accountId: referrer.accountId })}`)).body,
      ).toStrictEqual([creditBalance('CENTS', left)]);
      expect(statuses(await scene.referral(id))[1]).toBe(
        denied.status === 200 ? 'DENIED' : 'APPROVED',
      );
    }
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

  // A hundred accounts: `test/command-handling/moderations.test.ts`.
  test('accepts a hundred actions at once, and not one more', async () => {
    const referrer = await scene.person();
    const friends = await Promise.all(
      Array.from({ length: 25 }, () => scene.person({}, { referral: { code: referrer.code } })),
    );
    const filter = { referringAccountId: referrer.accountId };
    const { ids } = await scene.ids({ ...filter, limit: 100 });
    expect(ids).toHaveLength(friends.length);
    const eachSideTwice = [
      'REFERRED_APPROVED',
      'REFERRER_APPROVED',
      'REFERRED_DENIED',
      'REFERRER_DENIED',
    ] as const;
    const hundred = eachSideTwice.flatMap((action) => ids.map((id) => [id, action] as const));
    expect(outcome(await scene.moderate(...hundred))).toStrictEqual({ status: 200, body: {} });
    const denied = {
      ...filter,
      referredModerationStatus: 'DENIED',
      referrerModerationStatus: 'DENIED',
      limit: 0,
    };
    expect((await scene.ids(denied)).totalCount).toBe(friends.length);
    expect((await scene.moderate(...hundred, [ids[0]!, 'APPROVED'])).status).toBe(400);
    expect((await scene.ids(denied)).totalCount).toBe(friends.length);
  });
});

describe('programs', () => {
  const credit = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000 };
  const percent = { type: 'PCT_DISCOUNT', discountPercent: 10 };

  async function referralUnder(program: Json, { paid = true } = {}) {
    const tenant = await tenantWith(program);
    const scene = new Scene(tenant.live);
    const referrer = await scene.person();
    const friend = await scene.friendOf(referrer);
    const started = await scene.referral(friend.referralId);
    if (paid) await scene.subscribe(friend, PAID);
    return {
      tenant,
      scene,
      referrer,
      friend,
      started,
      after: await scene.referral(friend.referralId),
    };
  }

  test('that hold both sides grant nothing until an approval, in either order', async () => {
    const pending = {
      moderation: { referred: 'PENDING', referrer: 'PENDING' },
      referredReward: percent,
      referrerReward: credit,
    };
    const { scene, referrer, friend, started, after } = await referralUnder(pending);
    expect(started).toMatchObject({
      moderationStatus: 'PENDING',
      referredModerationStatus: 'PENDING',
      referrerModerationStatus: 'PENDING',
    });
    expect(after).toMatchObject({
      dateReferralPaid: aTime,
      referredReward: null,
      referrerReward: null,
    });
    await scene.moderate([friend.referralId, 'REFERRED_APPROVED']);
    expect(await scene.referral(friend.referralId)).toMatchObject({
      moderationStatus: 'PENDING',
      referredModerationStatus: 'APPROVED',
      referrerModerationStatus: 'PENDING',

      referredReward: expectedPercent(friend.accountId, friend.id, 10, {
        rewardSource: 'REFERRED',
      }),
      referrerReward: null,
    });
    await scene.moderate([friend.referralId, 'REFERRER_APPROVED']);
    expect(await scene.referral(friend.referralId)).toMatchObject({
      moderationStatus: 'ACTIONED',
      referrerReward: expectedCredit(referrer.accountId, referrer.id, 'CENTS', 1000, {
        rewardSource: 'FRIEND_SIGNUP',
      }),
    });
    const early = await scene.friendOf(referrer);
    await scene.moderate([early.referralId, 'APPROVED']);
    expect(await scene.referral(early.referralId)).toMatchObject({
      referredReward: { id: anId },
      referrerReward: null,
    });
    await scene.subscribe(early, PAID);
    expect(await scene.referral(early.referralId)).toMatchObject({ referrerReward: { id: anId } });
    const never = await scene.friendOf(referrer);
    await scene.moderate([never.referralId, 'DENIED']);
    await scene.subscribe(never, PAID);
    expect(await scene.referral(never.referralId)).toMatchObject({
      dateReferralPaid: aTime,
      referredReward: null,
      referrerReward: null,
      moderationStatus: 'ACTIONED',
    });
    expect(await scene.rewards(referrer)).toHaveLength(2);
  });

  test('may pay each side at the other moment', async () => {
    const { scene, friend, started, after } = await referralUnder({
      referredReward: { ...percent, when: 'CONVERTED' },
      referrerReward: { ...credit, when: 'STARTED' },
    });
    expect(started).toMatchObject({
      referredReward: null,
      referrerReward: { id: anId, assignedCredit: 1000 },
    });
    expect(after).toMatchObject({
      referredReward: { id: anId, discountPercent: 10 },
      referrerReward: started.referrerReward,
    });
    await scene.subscribe(friend, PAID);
    expect(await scene.referral(friend.referralId)).toStrictEqual(after);
  });

  test('leave a referrer who is blocked before the conversion the reward of the start', async () => {
    const terms = { referredReward: percent, referrerReward: { ...credit, when: 'STARTED' } };
    const { scene, referrer, friend, started } = await referralUnder(terms, { paid: false });
    await scene.api.post(`${referrer.at}/block`);
    await scene.subscribe(friend, PAID);
    expect(await scene.referral(friend.referralId)).toMatchObject({
      dateReferralPaid: aTime,
      referredModerationStatus: 'APPROVED',
      referrerModerationStatus: 'DENIED',
      referredReward: started.referredReward,
      referrerReward: started.referrerReward,
    });
    expect(
      (await scene.api.get(`/reward/balance${query({ accountId: referrer.accountId })}`)).body,
    ).toStrictEqual([creditBalance('CENTS', { count: 1, available: 1000 })]);
  });

  test('may grant no rewards at all', async () => {
    const { scene, after, referrer } = await referralUnder({
      referredReward: null,
      referrerReward: null,
    });
    expect(after).toMatchObject({
      dateReferralPaid: aTime,
      referredReward: null,
      referrerReward: null,
    });
    expect((await scene.api.get(`/code/${referrer.code}`)).body['reward']).toBeNull();
  });

  test('set the name, description, months, validity and delay of a reward, and whether it can be cancelled', async () => {
    const { scene, referrer, friend, after } = await referralUnder({
      referredReward: {
        ...percent,
        monthsDiscountIsValid: 3,
        validDays: 30,
        name: 'Welcome',
        description: 'Ten percent',
      },
      referrerReward: {
        ...credit,
        unit: 'POINTS',
        currency: 'EUR',
        delayDays: 7,
        validDays: 14,
        cancellable: false,
      },
    });
    const [start, paid] = [after.dateReferralStarted, after.dateReferralPaid!];
    expect(after.referredReward).toStrictEqual(
      expectedPercent(friend.accountId, friend.id, 10, {
        rewardSource: 'REFERRED',
        name: 'Welcome',
        description: 'Ten percent',
        dateGiven: start,
        dateExpires: start + 30 * DAY_MS,
      }),
    );
    expect(after.referrerReward).toStrictEqual(
      expectedCredit(referrer.accountId, referrer.id, 'POINTS', 1000, {
        rewardSource: 'FRIEND_SIGNUP',
        currency: 'EUR',
        cancellable: false,
        dateGiven: paid,
        dateScheduledFor: paid + 7 * DAY_MS,
        dateExpires: paid + 21 * DAY_MS,
      }),
    );
    expect((await scene.api.get(`/code/${referrer.code}`)).body['reward']).toStrictEqual({
      type: 'PCT_DISCOUNT',
      unit: '%',
      discountPercent: 10,
      monthsDiscountIsValid: 3,
    });
    const { id } = after.referrerReward!;
    expect(outcome(await scene.api.post(`/reward/${id}/cancel`))).toStrictEqual(
      refusal(400, 'REWARD_NOT_CANCELLABLE'),
    );
    for (const action of ['DENIED', 'REFERRER_DENIED', 'REFERRER_APPROVED']) {
      expect(outcome(await scene.moderate([friend.referralId, action]))).toStrictEqual({
        status: 400,
        body: {
          ...errorBody(400, 'MODERATION_NOT_POSSIBLE'),
          validationErrors: [expect.stringMatching(`^${friend.referralId}`)],
        },
      });
    }
    expect(await scene.referral(friend.referralId)).toStrictEqual(after);

    // By the service's clock, which the test puts forward: a week later, and three.
    const balance = async () =>
      (await scene.api.get(`/reward/balance${query({ accountId: referrer.accountId })}`)).body;
    expect(await balance()).toStrictEqual([creditBalance('POINTS', { count: 0, pending: 1000 })]);
    try {
      clock.mockImplementation(() => now() + 7 * DAY_MS);
      expect(await balance()).toStrictEqual([
        creditBalance('POINTS', { count: 1, available: 1000 }),
      ]);
      expect(
        (await scene.api.post(`/credit/${id}/redeem`, { amount: 400, unit: 'points' })).body,
      ).toMatchObject({ creditAvailable: 600 });
      clock.mockImplementation(() => now() + 21 * DAY_MS);
      expect(await balance()).toStrictEqual([
        creditBalance('POINTS', { count: 1, redeemed: 400, expired: 600 }),
      ]);
      expect(
        outcome(await scene.api.post(`/credit/${id}/redeem`, { amount: 1, unit: 'points' })),
      ).toStrictEqual(refusal(400, 'INVALD_REWARD_REDEMPTION'));
    } finally {
      clock.mockImplementation(now);
      await acceptClockOf(running.stores);
    }
  });

  test('that change apply from then on, and change no earlier reward', async () => {
    const { tenant, scene, referrer, friend, started } = await referralUnder(
      { referredReward: percent, referrerReward: credit },
      { paid: false },
    );
    await running.service.applyProgram(tenant.alias, {
      id: 'default',
      referredReward: { ...percent, discountPercent: 25 },
      referrerReward: { ...credit, assignedCredit: 5 },
    });
    await scene.subscribe(friend, PAID);
    expect(await scene.referral(friend.referralId)).toMatchObject({
      referredReward: started.referredReward,
      referrerReward: { assignedCredit: 5 },
    });
    const later = await scene.friendOf(referrer);
    expect((await scene.referral(later.referralId)).referredReward).toMatchObject({
      discountPercent: 25,
    });
    expect((await scene.api.get(`/code/${referrer.code}`)).body['reward']).toMatchObject({
      discountPercent: 25,
    });
  });

  test('each have one code per user, and a referral belongs to the program of its code', async () => {
    const tenant = await tenantWith({ referredReward: percent, referrerReward: credit });
    const scene = new Scene(tenant.live);
    const before = await scene.person();
    await running.service.applyProgram(tenant.alias, {
      id: 'vip',
      referredReward: { ...credit, unit: 'VIP', assignedCredit: 7 },
      referrerReward: null,
    });
    const mine = personal('vip');
    const { body } = await scene.api.post('/user', {
      id: before.id,
      accountId: before.accountId,
      referralCodes: { vip: mine },
    });
    expect(body).toMatchObject({
      referralCode: before.code,
      referralCodes: { default: before.code, vip: mine },
    });
    expect(Object.keys(body['programShareLinks'] as Json).sort()).toStrictEqual(['default', 'vip']);
    const fresh = await scene.person();
    const { referralCodes } = (
      await scene.api.get<{ referralCodes: Record<string, string> }>(fresh.at)
    ).body;
    expect(Object.keys(referralCodes).sort()).toStrictEqual(['default', 'vip']);
    expect(referralCodes['vip']).not.toBe(referralCodes['default']);
    expect((await scene.api.get(`/code/${mine}`)).body).toMatchObject({
      programId: 'vip',
      reward: { type: 'CREDIT', unit: 'VIP', credit: 7 },
    });
    const friend = await scene.person({}, { referral: { code: mine } });
    await scene.subscribe(friend, PAID);
    const { body: list } = await scene.api.get<{ referrals: Referral[] }>('/referrals');
    expect(list.referrals).toMatchObject([
      {
        programId: 'vip',
        referralCodeUsed: mine,
        referredReward: { unit: 'VIP', assignedCredit: 7 },
        referrerReward: null,
      },
    ]);
    const crossed = { id: before.id, accountId: before.accountId, referralCode: mine };
    expect(outcome(await scene.api.post('/user', crossed))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    const taken = {
      id: fresh.id,
      accountId: fresh.accountId,
      referralCodes: { default: mine.toUpperCase() },
    };
    expect(outcome(await scene.api.post('/user', taken))).toStrictEqual(
      refusal(400, 'REFERRAL_CODE_TAKEN'),
    );
  });
});
