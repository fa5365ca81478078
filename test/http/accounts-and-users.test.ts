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

const referredBy = async ({ at }: Person) => (await api.get(at)).body['referredBy'];
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

  test.each([
    ['DAY', 1],
    ['WEEK', 2],
    ['MONTH', 1],
    ['QUARTER', 1],
    ['SEMI_ANNUAL', 1],
    ['YEAR', 3],
  ])(
    'accepts a subscription that is paid every %s',
    async (billingIntervalType, billingIntervalValue) => {
      const id = personal('acc');
      const subscription = {
        status: 'PAID',
        value: 10.25,
        billingIntervalType,
        billingIntervalValue,
      };
      expect(outcome(await api.post('/accountsync', { id, subscription }))).toStrictEqual({
        status: 200,
        body: { id, currency: 'USD', subscription, referral: null },
      });
    },
  );

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

  test.each([
    ['unknown', async () => personal()],
    ['malformed', async () => 'no code!'],
    ['longer than any', async () => 'x'.repeat(2000)],
  ])('ignores a code that is %s, and a later one counts', async (_what, codeOf) => {
    const id = personal('acc');
    const { body } = await api.post('/accountsync', {
      id,
      subscription: TRIAL,
      referral: { code: await codeOf() },
    });
    expect(body['referral']).toBeNull();
    const { code } = await user();
    expect(
      (await api.post('/accountsync', { id, subscription: TRIAL, referral: { code } })).body[
        'referral'
      ],
    ).toStrictEqual({ code });
  });

  test('ignores an own code and a code after the first PAID', async () => {
    const own = await user();
    const { code } = await user();
    const sync = (id: string, subscription: Json, referral?: string) =>
      api.post('/accountsync', {
        id,
        subscription,
        ...(referral === undefined ? {} : { referral: { code: referral } }),
      });
    expect((await sync(own.accountId, TRIAL, own.code)).body['referral']).toBeNull();
    const paid = await account({ subscription: PAID });
    expect((await sync(paid, PAID, code)).body['referral']).toBeNull();
    expect((await sync(paid, TRIAL, code)).body['referral']).toBeNull();
    expect(
      (await api.get(`/referrals${query({ referredAccountId: paid })}`)).body['totalCount'],
    ).toBe(0);
  });

  test('attributes an account with code and PAID in one call, and converts it with its first user', async () => {
    const { code } = await user();
    const id = personal('acc');
    expect(
      (await api.post('/accountsync', { id, subscription: PAID, referral: { code } })).body[
        'referral'
      ],
    ).toStrictEqual({ code });
    const friend = await user({}, id);
    expect(await referredBy(friend)).toStrictEqual({
      code,
      isConverted: true,
      newlyReferred: false,
    });
  });

  test('refers the first referable user; the others show nothing', async () => {
    const { code } = await user();
    const id = await account({ referral: { code } });
    const shy = await user({ referable: false }, id);
    const first = await user({}, id);
    const second = await user({}, id);
    expect(await Promise.all([shy, first, second].map(referredBy))).toStrictEqual([
      null,
      { code, isConverted: false, newlyReferred: false },
      null,
    ]);
    expect((await api.get(second.at)).body['referredByCodes']).toStrictEqual([]);
  });

  test('with CANCELLED before the first user lets the referral start without an end; a first PAID still converts', async () => {
    const { code } = await user();
    const id = await account({ referral: { code } });
    await api.post('/accountsync', { id, subscription: { status: 'CANCELLED' } });
    await user({}, id);
    const referral = async () =>
      (await api.get<{ referrals: Json[] }>(`/referrals${query({ referredAccountId: id })}`)).body
        .referrals[0];
    expect(await referral()).toMatchObject({ dateReferralEnded: null, dateReferralPaid: null });
    await api.post('/accountsync', { id, subscription: { status: 'CANCELLED' } });
    const { dateReferralEnded } = (await referral())!;
    expect(dateReferralEnded).toEqual(expect.any(Number));
    await api.post('/accountsync', { id, subscription: PAID });
    await api.post('/accountsync', { id, subscription: { status: 'CANCELLED' } });
    const after = await referral();
    expect(after).toMatchObject({
      dateReferralEnded,
      dateReferralPaid: expect.any(Number) as unknown,
    });
    await api.post('/accountsync', { id, subscription: PAID });
    expect(await referral()).toStrictEqual(after);
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

  test('merge custom fields and apply segments in order', async () => {
    const person = await user({
      customFields: { a: 1, b: 'x', c: true },
      segments: ['one', 'two', 'one'],
    });
    const change = async (more: Json) =>
      (await api.post('/user', { id: person.id, accountId: person.accountId, ...more })).body;
    expect(await change({})).toMatchObject({
      customFields: { a: 1, b: 'x', c: true },
      segments: ['one', 'two'],
    });
    expect((await change({ customFields: { a: null, d: -0.5 } }))['customFields']).toStrictEqual({
      b: 'x',
      c: true,
      d: -0.5,
    });
    expect((await change({ segments: ['~one', 'three', '~nothing'] }))['segments']).toStrictEqual([
      'two',
      'three',
    ]);
    expect((await change({ segments: ['~*', 'last'] }))['segments']).toStrictEqual(['last']);
    expect((await api.get(person.at)).body).toMatchObject({
      customFields: { b: 'x', c: true, d: -0.5 },
      segments: ['last'],
    });
    const namedAsMethods = {
      constructor: 'a',
      toString: 1,
      hasOwnProperty: true,
      valueOf: '__proto__',
    };
    expect(
      (await change({ customFields: namedAsMethods, segments: ['__proto__'] }))['segments'],
    ).toStrictEqual(['last', '__proto__']);
    expect((await api.get(person.at)).body['customFields']).toStrictEqual({
      b: 'x',
      c: true,
      d: -0.5,
      ...namedAsMethods,
    });
  });

  test('hold the largest profile, and refuse a larger one', async () => {
    const person = await user();
    const fields = (from: number) =>
      Object.fromEntries(
        Array.from({ length: 100 }, (_, n) => [`f${from + n}`, '😀'.repeat(1024)]),
      );
    const change = (from: number) =>
      api.post('/user', { id: person.id, accountId: person.accountId, customFields: fields(from) });
    expect((await change(0)).status).toBe(200);
    let next = await change(100);
    for (let from = 200; next.status === 200 && from < 1000; from += 100) next = await change(from);
    expect(outcome(next)).toStrictEqual(refusal(400, 'BAD_REQUEST'));
    const { body } = await api.get(person.at);
    expect(Object.keys(body['customFields'] as Json).length % 100).toBe(0);
    expect(
      (
        await api.post('/user', {
          id: person.id,
          accountId: person.accountId,
          customFields: { f0: null },
        })
      ).status,
    ).toBe(200);
  });

  test.each<[string, number, Json]>([
    [
      'every segment is as long as it can be: too much',
      400,
      { segments: Array.from({ length: 1000 }, (_, n) => `${n}`.padEnd(256, '€')) },
    ],
    [
      'every text is as long as it can be',
      200,
      {
        firstName: '€'.repeat(2048),
        lastName: '😀'.repeat(1024),
        imageUrl: `https://e.example/${'x'.repeat(2000)}`,
      },
    ],
  ])('%s', async (_what, expected, members) => {
    const accountId = await account();
    const referralCode = personal('big');
    const { status } = await api.post('/user', {
      id: personal(),
      accountId,
      referralCode,
      ...members,
    });
    expect(status).toBe(expected);
    // What a refused call asked for is free again.
    if (expected === 400) expect((await user({ referralCode })).code).toBe(referralCode);
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
  test('are made from the name, with digits on a clash, or from nothing', async () => {
    const stem = personal('n').toUpperCase();
    const codeOf = async (firstName: string | null, lastName: string | null) =>
      (await user({ firstName, lastName })).code;
    expect(await codeOf(`${stem.toLowerCase()} é-`, 'Lee')).toBe(`${stem}LEE`.slice(0, 15));
    expect(await codeOf(stem, 'Lee')).toMatch(new RegExp(`^${stem}L?E?E?[0-9]+$`));
    expect(await codeOf('ab', 'c'.repeat(300))).toMatch(/^ABC{13}$/);
    expect(await codeOf('ÄÖÜ', '李')).toMatch(/^[0-9A-Z]{1,15}$/);
    expect(await codeOf(null, null)).toMatch(/^[0-9A-Z]{1,15}$/);
  });

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

  test('from before keep working; an own one that is sent again is primary again', async () => {
    const [old, young] = [personal('old'), personal('new')];
    const owner = await user({ referralCode: old });
    const change = async (referralCode: string) =>
      (await api.post('/user', { id: owner.id, accountId: owner.accountId, referralCode })).body;
    expect(await change(young)).toMatchObject({
      referralCode: young,
      referralCodes: { default: young },
    });
    expect((await api.get(`/code/${old}`)).body['code']).toBe(old);
    expect((await api.get(`/user${query({ referralCode: old })}`)).body).toMatchObject({
      id: owner.id,
      referralCode: young,
    });
    expect((await change(old))['referralCode']).toBe(old);
    expect((await api.get(`/code/${young}`)).status).toBe(200);
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

  test('of a request for a user: the first one with an owner counts', async () => {
    const [first, second] = [await user(), await user()];
    const friend = await user({
      referredBy: { code: 'nobodys', isConverted: true },
      referredByCodes: ['!', first.code.toLowerCase(), second.code],
    });
    expect(await referredBy(friend)).toStrictEqual({
      code: first.code,
      isConverted: false,
      newlyReferred: false,
    });
    const own = await user();
    const change = (more: Json) =>
      api.post('/user', { id: own.id, accountId: own.accountId, ...more });
    expect(
      (await change({ referredByCodes: [own.code, first.code] })).body['referredBy'],
    ).toBeNull();
    const changed = await change({ referredBy: { code: second.code } });
    expect(changed.body).toMatchObject({
      referredBy: { code: second.code, isConverted: false, newlyReferred: true },
      referredByCodes: [second.code],
    });
    const again = await change({ referredBy: { code: first.code } });
    expect(again.body['referredBy']).toStrictEqual({
      code: second.code,
      isConverted: false,
      newlyReferred: false,
    });
    const shy = await user({ referable: false, referredBy: { code: first.code } });
    expect(await referredBy(shy)).toBeNull();
    expect((await api.get(`/account${path(shy.accountId)}`)).body['referral']).toBeNull();
  });

  test('of a blocked user in a body start a referral with both sides denied', async () => {
    const owner = await user();
    await api.post(`${owner.at}/block`);
    const friend = await user({ referredBy: { code: owner.code } });
    const list = await api.get<{ referrals: Json[] }>(
      `/referrals${query({ referredAccountId: friend.accountId })}`,
    );
    expect(list.body.referrals[0]).toMatchObject({
      moderationStatus: 'ACTIONED',
      referredModerationStatus: 'DENIED',
      referrerModerationStatus: 'DENIED',
      referredReward: null,
      referrerReward: null,
    });
    await api.post('/accountsync', { id: friend.accountId, subscription: PAID });
    expect((await api.get(`/reward${query({ accountId: owner.accountId })}`)).body).toStrictEqual(
      [],
    );
    expect((await api.get(`/reward${query({ accountId: friend.accountId })}`)).body).toStrictEqual(
      [],
    );
  });

  test("of a user who is blocked between start and PAID convert: the referrer's side is denied, the friend keeps the reward", async () => {
    const owner = await user();
    const friend = await user({ referredBy: { code: owner.code } });
    await api.post(`${owner.at}/block`);
    await api.post('/accountsync', { id: friend.accountId, subscription: PAID });
    const list = await api.get<{ referrals: Json[] }>(
      `/referrals${query({ referredAccountId: friend.accountId })}`,
    );
    expect(list.body.referrals[0]).toMatchObject({
      referredModerationStatus: 'APPROVED',
      referrerModerationStatus: 'DENIED',
      dateReferralPaid: expect.any(Number) as unknown,
      referredReward: { dateCancelled: null },
      referrerReward: null,
    });
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
