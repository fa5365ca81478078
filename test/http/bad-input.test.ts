import { basic, path, query, type ApiClient, type Json } from '../support/api-client.js';
import { sendRaw } from '../support/raw-http.js';
import {
  errorBody,
  outcome,
  personal,
  refusal,
  startWithStores,
  type TestTenant,
} from '../support/running-service.js';

/**
 * Whatever comes: a JSON answer with every member of an error, never a 500, and nothing changed.
 */

let running: Awaited<ReturnType<typeof startWithStores>>;
let tenant: TestTenant;
let api: ApiClient;
let world: {
  accountId: string;
  userId: string;
  code: string;
  rewardId: string;
  referralId: string;
  friendAt: string;
  at: string;
};
beforeAll(async () => {
  running = await startWithStores();
  tenant = await running.service.createTenant();
  api = tenant.live;
  const [accountId, userId, friendAccount, friend] = [
    personal('acc'),
    personal('user'),
    personal('acc'),
    personal('user'),
  ];
  const at = `/account/${accountId}/user/${userId}`;
  const subscription = { status: 'TRIAL' };
  await api.post('/accountsync', { id: accountId, subscription });
  const code = String((await api.post('/user', { id: userId, accountId })).body['referralCode']);
  await api.post('/accountsync', { id: friendAccount, subscription, referral: { code } });
  await api.post('/user', { id: friend, accountId: friendAccount });
  const rewardId = String(
    (await api.post(`/rewards${at}`, { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 })).body[
      'id'
    ],
  );
  const { referrals } = (await api.get<{ referrals: Json[] }>('/referrals')).body;
  world = {
    accountId,
    userId,
    code,
    rewardId,
    referralId: String(referrals[0]!['id']),
    friendAt: `/account/${friendAccount}/user/${friend}`,
    at,
  };
});
afterAll(() => running.end());

interface BodyRoute {
  readonly to: string;
  /** A body that would change something, were nothing wrong with it. */
  readonly good: Json;
}

/** Those that take a body. */
const BODY_ROUTES: Readonly<Record<string, () => BodyRoute>> = {
  accountsync: () => ({
    to: '/accountsync',
    good: { id: world.accountId, subscription: { status: 'FREE', value: 1 }, currency: 'EUR' },
  }),
  user: () => ({
    to: '/user',
    good: { id: world.userId, accountId: world.accountId, firstName: personal() },
  }),
  moderate: () => ({
    to: '/referrals/moderate',
    good: { actions: [{ referralId: world.referralId, action: 'APPROVED' }] },
  }),
  bulkredeem: () => ({
    to: '/credit/bulkredeem',
    good: { accountId: world.accountId, amount: 1, unit: 'CENTS' },
  }),
  redeem: () => ({ to: `/credit/${world.rewardId}/redeem`, good: { amount: 1, unit: 'CENTS' } }),
  'give credit': () => ({
    to: `/rewards${world.at}`,
    good: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1, name: 'a', currency: 'EUR' },
  }),
  'give percent': () => ({
    to: `/rewards${world.at}`,
    good: { type: 'PCT_DISCOUNT', discountPercent: 1, dateExpires: Date.now() + 1e9 },
  }),
  'give a tank': () => ({
    to: `/rewards${world.at}`,
    good: { type: 'FUELTANK', fuelTankCode: 'c', fuelTankType: 'CREDIT', amount: 1, unit: 'x' },
  }),
};

/** Those whose body is empty. */
const EMPTY_ROUTES: Readonly<Record<string, () => string>> = {
  block: () => `${world.at}/block`,
  unblock: () => `${world.at}/unblock`,
  apply: () => `/open/code/${world.code}${world.friendAt}`,
  cancel: () => `/reward/${world.rewardId}/cancel`,
};

async function changesNothing(during: () => Promise<void>): Promise<void> {
  // What earlier writes set off is in the log as soon as a read has been answered.
  await api.get('/users?limit=0');
  const head = await running.service.head();
  await during();
  expect(await running.service.head()).toBe(head);
}

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

/**
 * Bodies that are no JSON that could be stored, as texts or bytes; `good` is the route's own body,
 * to hide something in.
 */
const UNREADABLE: Readonly<Record<string, (good: Json) => string | Buffer<ArrayBuffer>>> = {
  'half an object': (good) => JSON.stringify(good).slice(0, -1),
  'one brace too many': (good) => `${JSON.stringify(good)}}`,
  'two objects': (good) => JSON.stringify(good).repeat(2),
  'a comma too many': (good) => JSON.stringify(good).replace(/}$/, ',}'),
  'single quotes': (good) => JSON.stringify(good).replaceAll('"', "'"),
  'a comment': (good) => `/* */${JSON.stringify(good)}`,
  'not a number': (good) => JSON.stringify({ ...good, x: 0 }).replace(/:0}$/, ':NaN}'),
  'a form': () => 'id=1&amount=5',
  'a tab in a text': (good) => JSON.stringify({ ...good, x: '?' }).replace('?', '\t'),
  'no UTF-8': (good) =>
    Buffer.concat([
      Buffer.from(JSON.stringify({ ...good, x: '' }).slice(0, -2)),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]),
  'UTF-16': (good) => Buffer.from(JSON.stringify(good), 'utf16le'),
  __proto__: (good) => JSON.stringify(good).replace('{', '{"__proto__":{"a":1},'),
  '__proto__, spelled in escapes': (good) =>
    JSON.stringify(good).replace('{', '{"\\u005f_proto__":{"a":1},'),
  '__proto__ within': (good) =>
    JSON.stringify({ ...good, x: 0 }).replace(/:0}$/, ':[{"__proto__":{"a":1}}]}'),
  'constructor.prototype': (good) =>
    JSON.stringify({ ...good, constructor: { prototype: { a: 1 } } }),
  'a NUL': (good) => JSON.stringify({ ...good, x: 'a\0b' }),
  'a NUL in a name': (good) => JSON.stringify({ ...good, 'a\0b': 1 }),
  'half a surrogate pair': (good) => JSON.stringify({ ...good, x: '?' }).replace('?', '\\ud83d'),
  'the other half': (good) => JSON.stringify({ ...good, x: [{ y: '?' }] }).replace('?', '\\ude00'),
  'half a surrogate pair in a name': (good) =>
    JSON.stringify({ ...good, '?': 1 }).replace('?', '\\ud800'),
  'arrays in arrays': (good) => JSON.stringify({ ...good, x: 0 }).replace(/:0}$/, `:${deep(100)}}`),
  'arrays in arrays in arrays': () => deep(200_000),
  'objects in objects': (good) =>
    JSON.stringify({ ...good, x: 0 }).replace(/:0}$/, `:${deepObject(1000)}}`),
  'open arrays': () => '['.repeat(1_000_000),
};

/** JSON, but no object. */
const NO_OBJECTS = ['null', '[]', '[{}]', '""', '"text"', '0', 'true', '1e999'];

const REFUSED_TYPES: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/xml' },
  { 'content-type': 'application/jsonp' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
];

describe.each(Object.keys(BODY_ROUTES))('the body of %s', (name) => {
  const route = () => BODY_ROUTES[name]!();

  test('that cannot be read is refused', () =>
    changesNothing(async () => {
      const { to, good } = route();
      for (const [what, bodyOf] of Object.entries(UNREADABLE)) {
        const { status, body } = await api.post(to, undefined, { raw: bodyOf(good) });
        expect([what, status, body]).toStrictEqual([what, 400, errorBody(400, 'BAD_REQUEST')]);
      }
      for (const raw of NO_OBJECTS) {
        const { status, body } = await api.post(to, undefined, { raw });
        expect([raw, status, body]).toStrictEqual([raw, 400, errorBody(400, 'BAD_REQUEST')]);
      }
    }));

  test('that is too large or of another type is refused', () =>
    changesNothing(async () => {
      const { to, good } = route();
      for (const size of [1024 * 1024 + 1, 3 * 1024 * 1024]) {
        const raw = JSON.stringify(good).padEnd(size);
        expect(outcome(await api.post(to, undefined, { raw }))).toStrictEqual(
          refusal(413, 'PAYLOAD_TOO_LARGE'),
        );
      }
      for (const headers of REFUSED_TYPES) {
        const { status, body } = await api.post(to, good, { headers });
        expect([headers, status, body]).toStrictEqual([
          headers,
          415,
          errorBody(415, 'UNSUPPORTED_MEDIA_TYPE', 'RS046'),
        ]);
      }
    }));

  const NASTY: readonly unknown[] = [
    null,
    true,
    0,
    -1,
    0.5,
    2 ** 53,
    2 ** 63,
    -(2 ** 53),
    1e300,
    '',
    ' ',
    'x',
    '-1',
    '1e5',
    'x'.repeat(2000),
    '💥'.repeat(300),
  ];
  const NASTIER: readonly unknown[] = [
    'a/b',
    "'; drop table x; --",
    '../..',
    '{{x}}',
    [],
    [null],
    [[]],
    ['x'],
    {},
    { a: 1 },
    { toString: 1 },
    { length: -1 },
  ];

  test('with anything in any member is taken or refused, and what is refused changed nothing', async () => {
    const { to } = route();
    const members: Record<string, readonly string[]> = {
      '/accountsync': ['id', 'subscription', 'currency', 'referral'],
      '/user': [
        'id',
        'accountId',
        'email',
        'firstName',
        'lastName',
        'imageUrl',
        'locale',
        'countryCode',
        'referable',
        'customFields',

        'segments',
        'referralCode',
        'referralCodes',
        'referredBy',
        'referredByCodes',
        'paymentProviderId',
      ],
    };
    for (const member of members[to] ?? Object.keys(route().good)) {
      const sent = (value: unknown) => api.post(to, { ...route().good, [member]: value });
      const answers = await Promise.all(
        [...NASTY, ...NASTIER].map(async (value) => ({ value, answer: await sent(value) })),
      );
      const refusals = answers.filter(({ answer }) => answer.status >= 300);
      for (const { value, answer } of refusals) {
        const { status, body } = answer;
        const said = [member, value, [400, 404].includes(status)];
        const error = errorBody(
          status,
          String(body['apiErrorCode']),
          body['rsCode'] as string | null,
        );
        expect([...said, body]).toStrictEqual([member, value, true, error]);
      }
      // Once more without those that were taken.
      await changesNothing(async () => {
        const again = await Promise.all(refusals.map(({ value }) => sent(value)));
        expect(again.map(({ status }) => status)).toStrictEqual(
          refusals.map(({ answer }) => answer.status),
        );
      });
    }
  });
});

test.each<[string, Json]>([
  ...[null, '', 'paid', 5, true, [], {}].map((status): [string, Json] => ['status', { status }]),
  ...[-1, -0.001, '1', true, [], {}].map((value): [string, Json] => [
    'value',
    { status: 'FREE', value },
  ]),
  ...['', null].map((value): [string, Json] => [
    'value of PAID',
    { status: 'PAID', value, billingIntervalType: 'DAY', billingIntervalValue: 1 },
  ]),
  ...['HOUR', 'day', 1, []].map((type): [string, Json] => [
    'interval',
    { status: 'FREE', billingIntervalType: type },
  ]),
  ...[0, -1, 1.5, 2 ** 53, '1', []].map((value): [string, Json] => [
    'interval',
    { status: 'FREE', billingIntervalValue: value },
  ]),
])('a subscription with a bad %s: %j', (_what, subscription) =>
  changesNothing(async () => {
    const { status, body } = await api.post('/accountsync', { id: world.accountId, subscription });
    expect([status, body['apiErrorCode']]).toStrictEqual([400, 'BAD_REQUEST']);
  }),
);

test('a price that is too large to be a number', () =>
  changesNothing(async () => {
    const raw = `{"id":"${world.accountId}","subscription":{"status":"FREE","value":1e999}}`;
    expect((await api.post('/accountsync', undefined, { raw })).status).toBe(400);
  }));

describe.each(Object.keys(EMPTY_ROUTES))('%s, whose body is empty', (name) => {
  const to = () => EMPTY_ROUTES[name]!();

  test('refuses one that cannot be read, is too large, or is of another type', () =>
    changesNothing(async () => {
      for (const [what, bodyOf] of Object.entries(UNREADABLE)) {
        const { status, body } = await api.post(to(), undefined, { raw: bodyOf({ a: 1 }) });
        expect([what, status, body]).toStrictEqual([what, 400, errorBody(400, 'BAD_REQUEST')]);
      }
      expect(
        outcome(await api.post(to(), undefined, { raw: ' '.repeat(1024 * 1024 + 1) })),
      ).toStrictEqual(refusal(413, 'PAYLOAD_TOO_LARGE'));
      for (const headers of REFUSED_TYPES) {
        expect(outcome(await api.post(to(), { a: 1 }, { headers }))).toStrictEqual(
          refusal(415, 'UNSUPPORTED_MEDIA_TYPE', 'RS046'),
        );
      }
    }));
});

test('nothing at all and {} are empty, of whatever type', async () => {
  const { at } = world;
  const empty: [string | undefined, Record<string, string>][] = [
    [undefined, {}],
    ['', { 'content-type': 'application/json' }],
    ['{}', { 'content-type': 'application/json' }],
    [' { } ', { 'content-type': 'text/plain' }],
    ['', { 'content-type': 'text/plain' }],
  ];
  for (const [raw, headers] of empty) {
    const options = raw === undefined ? { headers } : { headers, raw };
    expect(outcome(await api.post(`${at}/block`, undefined, options))).toStrictEqual({
      status: 200,
      body: {},
    });
    expect(outcome(await api.post(`${at}/unblock`, undefined, options))).toStrictEqual({
      status: 200,
      body: {},
    });
  }
});

/** Ids that may be: they have to come back as they went. */
const GOOD_IDS = [
  'a/b',
  'a%2Fb',
  '%',
  ' ',
  'a b',
  ' a ',
  '?#&=;,',
  '\'"`\\',
  '..',
  '.',
  '%2e%2e',
  '<b>',
  '{{x}}',
  '日本語',
  'é',
  'e\u0301',
  '😀'.repeat(255),
];
GOOD_IDS.push(
  'x'.repeat(255),
  '-1',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  'toString',
  '\u202eabc',
  '\u00a0',
  'a\\u0000',
  '*',
  '%00',
);
/** Ids that cannot be. */
const BAD_IDS = [
  'x'.repeat(256),
  'x'.repeat(2000),
  '\0',
  'a\0b',
  'a\nb',
  '\r',
  '\t',
  '\u007f',
  '\u0085',
  '😀'.repeat(256),
];

describe('ids', () => {
  const port = () => Number(new URL(running.service.origin).port);
  /** Without a client that tidies paths up. */
  async function getAsIs(to: string) {
    const [answer] = await sendRaw(
      port(),
      `GET /api/v1/${tenant.alias}${to} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${basic(`:${tenant.liveKey}`)}\r\n\r\n`,
    );
    return { status: answer!.status, body: answer!.json };
  }

  test('of all kinds come back as they went, and are not mixed up', async () => {
    const mark = personal();
    const codes = new Map<string, string>();
    for (const id of GOOD_IDS) {
      const own = id === '..' || id === '.' || [...id].length === 255 ? id : `${id}${mark}`;
      const synced = await api.post('/accountsync', { id: own, subscription: { status: 'TRIAL' } });
      expect([own, synced.status, synced.body['id']]).toStrictEqual([own, 200, own]);
      const made = await api.post('/user', { id: own, accountId: own });
      expect([own, made.status, made.body['id'], made.body['accountId']]).toStrictEqual([
        own,
        200,
        own,
        own,
      ]);
      codes.set(own, String(made.body['referralCode']));
    }
    for (const [id, code] of codes) {
      expect([id, await getAsIs(`/account${path(id)}`)]).toMatchObject([
        id,
        { status: 200, body: { id } },
      ]);
      expect(await getAsIs(`/account${path(id)}/user${path(id)}`)).toMatchObject({
        status: 200,
        body: { id, accountId: id, referralCode: code },
      });
      expect((await api.get(`/user${query({ referralCode: code })}`)).body['id']).toBe(id);
      expect(
        (await api.get<Json[]>(`/reward${query({ accountId: id, userId: id })}`)).body,
      ).toStrictEqual([]);
      expect(
        (await api.get(`/users${query({ query: id })}`)).body['totalCount'],
      ).toBeGreaterThanOrEqual(id.trim() === '' ? 0 : 1);
    }
  });

  test('that cannot be are refused, in bodies, paths and queries', () =>
    changesNothing(async () => {
      const bad = refusal(400, 'BAD_REQUEST');
      for (const id of BAD_IDS) {
        const at = `/account${path(id)}/user${path(id)}`;
        const answers = [
          await api.post('/accountsync', { id, subscription: { status: 'TRIAL' } }),
          await api.post('/user', { id, accountId: world.accountId }),
          await api.post('/user', { id: 'u', accountId: id }),
          await api.post('/credit/bulkredeem', { accountId: id, amount: 1, unit: 'CENTS' }),
          await api.post('/referrals/moderate', {
            actions: [{ referralId: id, action: 'DENIED' }],
          }),
          await api.get(`/account${path(id)}`),
          await api.get(`/account${path(id)}/reward`),
          await api.get(at),
          await api.get(`/account/${world.accountId}/user${path(id)}`),
          await api.post(`${at}/block`),
          await api.post(`${at}/unblock`),
          await api.post(`/rewards${at}`, { type: 'PCT_DISCOUNT', discountPercent: 1 }),
          await api.post(`/open/code/${world.code}${at}`),
          await api.get(`/reward${query({ accountId: id })}`),
          await api.get(`/reward/balance${query({ accountId: world.accountId, userId: id })}`),
          await api.get(`/referrals${query({ referringAccountId: id })}`),
          await api.get(`/referrals${query({ referredUserId: id })}`),
        ];
        expect([id, answers.map(outcome)]).toStrictEqual([id, answers.map(() => bad)]);
        const unknown = [
          await api.get(`/referrals${path(id)}`),
          await api.get(`/reward${path(id)}`),
          await api.post(`/reward${path(id)}/cancel`),
        ];
        expect(unknown.map(({ status }) => status)).toStrictEqual([404, 404, 404]);
        expect((await api.get(`/code${path(id)}`)).status).toBe(404);
      }
    }));

  test('that nobody has are 404 or an empty list', () =>
    changesNothing(async () => {
      const mark = personal();
      for (const id of GOOD_IDS.map((good) => `${mark}${good}`.slice(0, 200))) {
        if (/[\ud800-\udbff]$/.test(id)) continue;
        expect([id, (await api.get(`/account${path(id)}`)).status]).toStrictEqual([id, 404]);
        expect((await api.get(`/account/${world.accountId}/user${path(id)}`)).status).toBe(404);
        expect((await api.get(`/code${path(id)}`)).status).toBe(404);
        expect((await api.get(`/reward${path(id)}`)).status).toBe(404);
        expect((await api.get(`/referrals${path(id)}`)).status).toBe(404);
        expect(
          (await api.get(`/referrals${query({ referringUserId: id })}`)).body['totalCount'],
        ).toBe(0);
      }
    }));
});

describe('queries', () => {
  const NASTY = [
    '',
    '%',
    '%zz',
    '%00',
    '%ff',
    '%ed%a0%80',
    '[]',
    '{}',
    'null',
    '-1',
    '1e999',
    '9'.repeat(400),
    "'",
    '"',
    '%27%20or%201=1',
    'x'.repeat(3000),
    '%F0%9F%98%80',
    '&',
    '=',
  ];
  const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
    '/users': ['query', 'limit', 'offset'],
    '/user': ['referralCode'],
    '/reward?accountId=a&': ['userId', 'rewardTypeFilter', 'accountId'],
    '/reward/balance?accountId=a&': ['userId', 'rewardTypeFilter', 'accountId'],
    '/referrals': [
      'referringAccountId',
      'referringUserId',
      'referredAccountId',
      'referredUserId',
      'referredModerationStatus',
      'referrerModerationStatus',
      'dateReferralStarted',
      'dateReferralPaid',
      'dateReferralEnded',
      'limit',
      'offset',
    ],
  };

  test.each(Object.keys(PARAMETERS))('GET %s with anything in any parameter', (to) =>
    changesNothing(async () => {
      for (const name of PARAMETERS[to]!) {
        for (const value of NASTY) {
          const target = `${to}${to.includes('?') ? '' : '?'}${name}=${value}`;
          const { status, body } = await api.get(target);
          expect([target, [200, 400, 404].includes(status)]).toStrictEqual([target, true]);
          if (status !== 200)
            expect(body).toStrictEqual(errorBody(status, String(body['apiErrorCode'])));
        }
        expect(
          (await api.get(`${to}${to.includes('?') ? '' : '?'}${name}=1&${name}=2`)).status,
        ).toBe(400);
        expect([200, 400]).toContain(
          (await api.get(`${to}${to.includes('?') ? '' : '?'}${name}[a]=1&${name}[]=2`)).status,
        );
      }
    }),
  );
});

test('nothing of all this was a failure of the service', () => {
  expect(running.service.logText).not.toContain('request failed');
  expect(running.service.logText).not.toMatch(/"status":5\d\d/);
  expect(running.service.logText).toContain('"status":413');
});
