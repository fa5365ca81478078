import { writeFile } from 'node:fs/promises';
import { fuzz } from '../../bench/fuzz/fuzz-run.js';
import { createLedgers } from '../../bench/fuzz/small-world.js';
import { makeOperatorKey } from '../../src/config/operators.js';
import { basic, path, query, type ApiClient, type Json } from '../support/api-client.js';
import { sendRaw } from '../support/raw-http.js';
import { newSeed } from '../support/new-seed.js';
import {
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
  redeem: () => ({
    to: `/credit/${world.rewardId}/redeem`,
    good: { amount: 1, unit: 'CENTS' },
  }),
  discount: () => ({
    to: '/discount',
    good: {
      accountId: world.friendAt.split('/')[2],
      paymentProviderId: personal('cus'),
      couponCode: world.code,
    },
  }),
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
  const before = await running.service.eventsOf(tenant);
  await during();
  expect(await running.service.eventsOf(tenant)).toBe(before);
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
