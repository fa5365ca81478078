import { writeFile } from 'node:fs/promises';
import { fuzz } from '../../bench/fuzz/fuzz-run.js';
import { createLedgers } from '../../bench/fuzz/small-world.js';
import { makeOperatorKey } from '../../src/config/operators.js';
import { SyncAccountRequest } from '../../src/http/accounts/sync-account.request.js';
import { DiscountRequest } from '../../src/http/discounts/discount.request.js';
import { ModerateReferralsRequest } from '../../src/http/referrals/moderate-referrals.request.js';
import { parseCreateReward } from '../../src/http/rewards/create-reward.request.js';
import { BulkRedeemRequest, RedeemRequest } from '../../src/http/rewards/redeem.request.js';
import { parseRequest } from '../../src/http/shapes/validation.js';
import { UserRequest } from '../../src/http/users/user.request.js';
import { basic, path, query, type ApiClient, type Json } from '../support/api-client.js';
import { ANY_VALUES, BAD_IDS } from '../support/bad-values.js';
import { sendRaw } from '../support/raw-http.js';
import { newSeed } from '../support/new-seed.js';
import {
  errorBody,
  outcome,
  personal,
  refusal,
  shareService,
  type TestTenant,
} from '../support/running-service.js';

/**
 * Whatever comes: a JSON answer with every member of an error, never a 500, and nothing changed.
 */

const operators = (['fay', 'sam'] as const).map((name) => ({
  name,
  ...makeOperatorKey(name, ['finance', 'support']),
}));
let running: Awaited<ReturnType<typeof shareService>>;
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
  const entries = operators.map(({ entry }) => entry);
  running = await shareService();
  await writeFile(running.stores.operatorsFile, JSON.stringify(entries));
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
  /** What the route reads the body with. @throws when it refuses the body. */
  readonly parse: (body: Json) => object;
}

/** Those that take a body. */
const BODY_ROUTES: Readonly<Record<string, () => BodyRoute>> = {
  accountsync: () => ({
    to: '/accountsync',
    good: { id: world.accountId, subscription: { status: 'FREE', value: 1 }, currency: 'EUR' },
    parse: (body) => parseRequest(SyncAccountRequest, body),
  }),
  user: () => ({
    to: '/user',
    good: { id: world.userId, accountId: world.accountId, firstName: personal() },
    parse: (body) => parseRequest(UserRequest, body),
  }),
  moderate: () => ({
    to: '/referrals/moderate',
    good: { actions: [{ referralId: world.referralId, action: 'APPROVED' }] },
    parse: (body) => parseRequest(ModerateReferralsRequest, body),
  }),
  bulkredeem: () => ({
    to: '/credit/bulkredeem',
    good: { accountId: world.accountId, amount: 1, unit: 'CENTS' },
    parse: (body) => parseRequest(BulkRedeemRequest, body),
  }),
  redeem: () => ({
    to: `/credit/${world.rewardId}/redeem`,
    good: { amount: 1, unit: 'CENTS' },
    parse: (body) => parseRequest(RedeemRequest, body),
  }),
  discount: () => ({
    to: '/discount',
    good: {
      accountId: world.friendAt.split('/')[2],
      paymentProviderId: personal('cus'),
      couponCode: world.code,
    },
    parse: (body) => parseRequest(DiscountRequest, body),
  }),
  'give credit': () => ({
    to: `/rewards${world.at}`,
    good: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1, name: 'a', currency: 'EUR' },
    parse: (body) => parseCreateReward(body),
  }),
  'give percent': () => ({
    to: `/rewards${world.at}`,
    good: { type: 'PCT_DISCOUNT', discountPercent: 1, dateExpires: Date.now() + 1e9 },
    parse: (body) => parseCreateReward(body),
  }),
  'give a tank': () => ({
    to: `/rewards${world.at}`,
    good: { type: 'FUELTANK', fuelTankCode: 'c', fuelTankType: 'CREDIT', amount: 1, unit: 'x' },
    parse: (body) => parseCreateReward(body),
  }),
};

/** Those whose body may be empty, and which read no member of it. */
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

/** Every kind of body that is refused before its members: `test/http-edge/bodies.test.ts`. */
async function refusesUnreadableBodies(to: string, good: Json): Promise<void> {
  const text = JSON.stringify(good);
  const cut = await api.post(to, undefined, { raw: text.slice(0, -1) });
  expect(outcome(cut)).toStrictEqual(refusal(400, 'BAD_REQUEST'));
  const large = await api.post(to, undefined, { raw: text.padEnd(1024 * 1024 + 1) });
  expect(outcome(large)).toStrictEqual(refusal(413, 'PAYLOAD_TOO_LARGE'));
  const plain = await api.post(to, good, { headers: { 'content-type': 'text/plain' } });
  expect(outcome(plain)).toStrictEqual(refusal(415, 'UNSUPPORTED_MEDIA_TYPE', 'RS046'));
}

describe.each(Object.keys(BODY_ROUTES))('the body of %s', (name) => {
  const route = () => BODY_ROUTES[name]!();

  test('is refused when it cannot be read, is too large or is of another type', () =>
    changesNothing(() => refusesUnreadableBodies(route().to, route().good)));

  test('is refused when it is not an object', () =>
    changesNothing(async () => {
      expect(outcome(await api.post(route().to, []))).toStrictEqual(refusal(400, 'BAD_REQUEST'));
    }));

  // What the route's shape refuses, `test/http-edge/requests.test.ts` says; here one such body is
  // sent, and everything that the shape takes.
  test('is accepted or refused with any value in any member, and refused ones change nothing', async () => {
    const { to, good, parse } = route();
    const isTaken = (body: Json): boolean => {
      try {
        return parse(body) !== undefined;
      } catch {
        return false;
      }
    };
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
      const taken = ANY_VALUES.filter((value) => isTaken({ ...good, [member]: value }));
      const refused = ANY_VALUES.find((value) => !taken.includes(value));
      const answers = await Promise.all(
        [...taken, refused].map(async (value) => ({ value, answer: await sent(value) })),
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

test('a price that is too large to be a number is refused', () =>
  changesNothing(async () => {
    const raw = `{"id":"${world.accountId}","subscription":{"status":"FREE","value":1e999}}`;
    expect((await api.post('/accountsync', undefined, { raw })).status).toBe(400);
  }));

describe.each(Object.keys(EMPTY_ROUTES))('%s, whose body may be empty', (name) => {
  const to = () => EMPTY_ROUTES[name]!();

  test('refuses one that cannot be read, is too large, or is of another type', () =>
    changesNothing(() => refusesUnreadableBodies(to(), { a: 1 })));
});

test('no body and {} are empty, of any content type', async () => {
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

  test('of all kinds are returned as sent, and stay distinct', async () => {
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

  test('that are malformed are refused, in bodies, paths and queries', () =>
    changesNothing(async () => {
      const bad = refusal(400, 'BAD_REQUEST');
      // The others: `test/http-edge/requests.test.ts` and `parameters.test.ts`.
      for (const id of BAD_IDS.slice(0, 2)) {
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

  test('that are unknown are answered with 404 or an empty list', () =>
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

  test.each(Object.keys(PARAMETERS))(
    'of GET %s are answered or refused with any text in any parameter',
    (to) =>
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

// 5 000 of each operation: `npm run soak:fuzz`.
test.each([
  [1, 1],
  [newSeed('requests from the description'), 2],
])(
  'requests made from the description by seed %i are answered as described, and to their tenant alone',
  async (seed, requests) => {
    const { service } = running.service;
    const tenants = service.core.tenantCommands;
    const world = {
      origin: running.service.origin,
      ledgers: await createLedgers(tenants, {
        aliases: [`fuzz-${seed}-one`, `fuzz-${seed}-two`],
      }),
      operators,
    };
    const { validator } = running.service;
    const report = await fuzz({ world, validator, seed, requests });
    expect(report.violations).toEqual([]);
    const sent = Object.entries(validator.document.paths).flatMap(([template, methods]) =>
      Object.keys(methods).map((method) =>
        report.operations.get(`${method.toUpperCase()} ${template}`),
      ),
    );
    expect(sent.filter((tally) => (tally?.requests ?? 0) < requests)).toEqual([]);
    // Most of the requests would otherwise end at the door.
    const accepted = sent.flatMap((tally) =>
      [...(tally?.statuses ?? [])].map(([status, count]) => (status < 300 ? count : 0)),
    );
    expect(accepted.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(sent.length / 4);
  },
);

test('none of these requests was a failure of the service', () => {
  expect(running.service.logText).not.toContain('request failed');
  expect(running.service.logText).not.toMatch(/"status":5\d\d/);
  expect(running.service.logText).toContain('"status":413');
});
