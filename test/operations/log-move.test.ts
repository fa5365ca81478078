import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore } from '../../src/stores/core.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { openLedgerDatabase } from '../../src/stores/ledger-database.js';
import { whilePresent } from '../../src/cli/command-line.js';
import { logAt } from '../../src/operations/log/log-address.js';
import type { LogMoveOptions, LogMoveResult } from '../../src/operations/log/log-move.js';
import { openPool } from '../../src/postgres/database.js';
import { query, type ApiClient, type Json } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { freshNamespace, startEventStore } from '../support/event-store.js';
import {
  createStores,
  outcome,
  refusal,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';
import { adjustLedger, copyWholeLog, metaBy } from '../support/operations.js';
import { openOnce } from '../support/opened.js';

const logger = pino({ level: 'silent' });
const PAID = { status: 'PAID', value: 10, billingIntervalType: 'MONTH', billingIntervalValue: 1 };

const store = openOnce(startEventStore, 'stop');
let stores: TestStores;
let namespace: string;
const services: RunningService[] = [];
beforeEach(async () => {
  stores = await createStores();
  namespace = freshNamespace();
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
  await stores.remove();
});

const onEventStore = () => ({ EVENT_STORE_URL: store.url, EVENT_STORE_NAMESPACE: namespace });

async function start(environment: Readonly<Record<string, string>> = {}): Promise<RunningService> {
  const service = await RunningService.start(stores, environment);
  services.push(service);
  return service;
}

async function stop(service: RunningService): Promise<void> {
  services.splice(services.indexOf(service), 1);
  await service.stop();
}

const configuration = (environment: Readonly<Record<string, string>> = {}) =>
  loadConfig({
    DATABASE_URL: stores.databaseUrl,
    MASTER_KEY_FILE: stores.masterKeyFile,
    ...environment,
  });

async function copy(
  from: string,
  to: string,
  options: Partial<LogMoveOptions> = {},
  around: (log: EventLog) => EventLog = (log) => log,
): Promise<LogMoveResult> {
  const config = configuration({ EVENT_STORE_NAMESPACE: namespace });
  const database = await openLedgerDatabase({ config, logger, applicationName: 'test' });
  const surroundings = { config, database, logger };
  const source = await logAt('from', from)(false, surroundings);
  const target = await logAt('to', to)(true, surroundings);
  try {
    return await copyWholeLog({
      database,
      source: around(source.log),
      target: target.log,
      whileRunning: false,
      signal: new AbortController().signal,
      awayMsMax: 20_000,
      ...options,
    });
  } finally {
    await source.close();
    await target.close();
    await database.close();
  }
}

/** The stores as a command opens them. @throws when it may not use the log. */
async function openCommand(environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const actor = { kind: 'operator' as const, id: 'test' };
  const core = await openCore({
    config: configuration(environment),
    logger,
    actor,
    applicationName: 'test',
  });
  try {
    return await core.log.id();
  } finally {
    await core.close();
  }
}

/** Ann refers Bob, Bob pays, Ann spends some of what she earned. */
async function tellStory(api: ApiClient): Promise<void> {
  await api.post('/accountsync', { id: 'a', subscription: PAID });
  await api.post('/user', { id: 'ann', accountId: 'a', referralCode: 'ANNCODE' });
  await api.post('/accountsync', {
    id: 'b',
    subscription: { status: 'TRIAL' },
    referral: { code: 'ANNCODE' },
  });
  await api.post('/user', { id: 'bob', accountId: 'b' });
  await api.post('/accountsync', { id: 'b', subscription: PAID });
  // A read waits for what the payment set off; a redemption does not.
  await api.get(`/reward${query({ accountId: 'a' })}`);
  const redeemed = await api.post(
    '/credit/bulkredeem',
    { accountId: 'a', amount: 300, unit: 'CENTS' },
    { key: 'redeem-once' },
  );
  expect(outcome(redeemed)).toEqual({
    status: 200,
    body: { creditRedeemed: 300, creditAvailable: 700, unit: 'CENTS' },
  });
}

const READS = [
  '/users',
  '/referrals',
  '/account/a',
  '/account/b',
  '/account/a/reward',
  '/account/b/reward',
  '/code/ANNCODE',
];
const BALANCES = ['a', 'b'].map((accountId) => `/reward/balance${query({ accountId })}`);

const answers = (api: ApiClient) =>
  Promise.all([...READS, ...BALANCES].map(async (path) => outcome(await api.get(path))));

const asSeenBy = (service: RunningService, tenant: TestTenant): ApiClient =>
  service.client(tenant.alias, `:${tenant.liveKey}`);

const isReady = async (service: RunningService): Promise<boolean> =>
  (await fetch(`${service.origin}/health/ready`)).status === 200;

const logCheck = async (service: RunningService): Promise<Json> => {
  const { checks } = (await (await fetch(`${service.origin}/health/ready`)).json()) as {
    checks: Record<string, Json>;
  };
  return checks['event-log'] ?? {};
};

async function rows<T extends object>(text: string): Promise<T[]> {
  const pool = openPool({ url: stores.databaseUrl, max: 1, applicationName: 'test' });
  try {
    return (await pool.query<T>(text)).rows;
  } finally {
    await pool.end();
  }
}

const generations = () =>
  rows<{ generation: number; state: string }>(
    'select distinct generation, state from ledger.projection_generations order by generation',
  );

/** A service that has ended, and what it answered last. */
async function stoppedLedger() {
  const before = await start();
  const tenant = await before.createTenant();
  await tellStory(tenant.live);
  const answered = await answers(tenant.live);
  await stop(before);
  return { tenant, answered };
}

test('after a move, and back, all answers are as before, nothing is granted twice, and the former log is refused', async () => {
  const before = await start();
  const tenant = await before.createTenant();
  await tellStory(tenant.live);
  const answered = await answers(tenant.live);
  expect(answered.at(-2)).toMatchObject({ status: 200, body: [{ totalAvailableCredit: 700 }] });
  const oldPosition = (await before.head()) ?? '';

  // Next to the running service there is a first pass at most.
  await expect(copy(stores.databaseUrl, store.url)).rejects.toThrow(
    /a service or a command runs on this database/,
  );
  const first = await copy(stores.databaseUrl, store.url, { whileRunning: true });
  expect(first).toMatchObject({ found: 0, differences: [], cameSince: 0, isRecorded: false });
  await tenant.live.post('/accountsync', { id: 'late', subscription: PAID });
  await stop(before);
  await expect(openCommand(onEventStore())).rejects.toThrow(/follows another log/);

  const last = await copy(stores.databaseUrl, store.url);
  expect(last).toMatchObject({
    found: first.events,
    differences: [],
    isOrderSame: true,
    cameSince: 0,
    isRecorded: true,
  });
  expect(last.appended).toBeGreaterThan(0);
  await expect(openCommand(onEventStore())).rejects.toThrow(/start the service once/);

  // Two processes start concurrently: one of them moves the database, both answer.
  const [after, second] = await Promise.all([start(onEventStore()), start(onEventStore())]);
  const api = asSeenBy(after, tenant);
  await eventually(async () => (await isReady(after)) && (await isReady(second)));
  expect(await generations()).toEqual([
    { generation: 1, state: 'retired' },
    { generation: 2, state: 'live' },
  ]);
  expect(await answers(api)).toEqual(answered);
  expect(await answers(asSeenBy(second, tenant))).toEqual(answered);
  expect(outcome(await api.get('/account/late')).status).toBe(200);

  // Policies have been where they were: they appended nothing.
  const head = (await after.head()) ?? '';
  expect(await after.service.policies.waitFor(head, 20_000)).toBe(true);
  expect(await after.head()).toBe(head);
  expect(await after.service.core.log.readAll(last.targetHead ?? undefined, 10)).toEqual([]);

  expect(outcome(await api.get('/users', { atLeast: oldPosition }))).toEqual(
    refusal(400, 'POSITION_INVALID'),
  );
  const again = await api.post(
    '/credit/bulkredeem',
    { accountId: 'a', amount: 300, unit: 'CENTS' },
    { key: 'redeem-once' },
  );
  expect(outcome(again)).toEqual({
    status: 200,
    body: { creditRedeemed: 300, creditAvailable: 700, unit: 'CENTS' },
  });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  // Kept with a position of the log that was left, answered with one that can be asked for.
  expect(
    (await api.get('/users', { atLeast: again.headers.get('ledger-position') ?? '' })).status,
  ).toBe(200);
  expect(await answers(api)).toEqual(answered);

  await api.post('/credit/bulkredeem', { accountId: 'a', amount: 100, unit: 'CENTS' });
  const answeredThere = await answers(api);
  expect(answeredThere.at(-2)).toMatchObject({ body: [{ totalAvailableCredit: 600 }] });
  await stop(after);
  await stop(second);
  await expect(start()).rejects.toThrow(/follows another log.*EVENT_STORE_URL.*log copy/);

  const back = await copy(store.url, stores.databaseUrl);
  expect(back).toMatchObject({
    found: last.events,
    appended: 1,
    differences: [],
    isRecorded: true,
  });
  const home = await start();
  await eventually(() => isReady(home));
  expect(await answers(asSeenBy(home, tenant))).toEqual(answeredThere);
}, 240_000);

test('a copy is valid only until its source may have grown', async () => {
  const before = await start();
  await before.createTenant();
  await stop(before);
  expect(await copy(stores.databaseUrl, store.url)).toMatchObject({ isRecorded: true });
  // Each process that opens the log may append to it.
  await openCommand();
  expect(await rows('select from ledger.log_copies')).toEqual([]);
  await expect(openCommand(onEventStore())).rejects.toThrow(/follows another log/);

  // One that grew while it was copied is not recorded either.
  const growing = (log: EventLog): EventLog =>
    Object.assign(Object.create(log) as EventLog, {
      head: async () => {
        const head = await log.head();
        await log.append('referral-grown', 'no-stream', [
          { id: randomUUID(), type: 'Grown', data: '{}', metadata: '{}' },
        ]);
        return head;
      },
    });
  expect(await copy(stores.databaseUrl, store.url, {}, growing)).toMatchObject({
    appended: 0,
    cameSince: 1,
    isRecorded: false,
  });
  expect(await rows('select from ledger.log_copies')).toEqual([]);
}, 120_000);

test('a command that runs during a copy invalidates it, before its end and after', async () => {
  const { tenant } = await stoppedLedger();
  const actor = { kind: 'operator' as const, id: 'test' };
  const core = await openCore({ config: configuration(), logger, actor, applicationName: 'test' });
  const correction = {
    accountId: 'a',
    userId: 'ann',
    unit: 'CENTS',
    amount: 500,
    reason: 'r',
    approvedBy: 'Ada',
  };
  try {
    // Between its opening and its work.
    expect(await copy(stores.databaseUrl, store.url)).toMatchObject({ isRecorded: true });
    await whilePresent(core, async () => {
      expect(await rows('select from ledger.log_copies')).toEqual([]);
      await expect(copy(stores.databaseUrl, store.url)).rejects.toThrow(
        /a service or a command runs on this database/,
      );
      expect(await copy(stores.databaseUrl, store.url, { whileRunning: true })).toMatchObject({
        isRecorded: false,
      });
      await adjustLedger(
        core,
        metaBy('Sam', core, { tenant: tenant.alias, mode: 'live' }),
        correction,
      );
    });
  } finally {
    await core.close();
  }
  expect(await copy(stores.databaseUrl, store.url)).toMatchObject({
    appended: 1,
    isRecorded: true,
  });
  const after = await start(onEventStore());
  await eventually(() => isReady(after));
  const { body } = await asSeenBy(after, tenant).get(`/reward/balance${query({ accountId: 'a' })}`);
  expect(body).toMatchObject([{ totalAvailableCredit: 1_200 }]);
}, 120_000);

test('reads are refused until the read models are complete again', async () => {
  const { tenant, answered } = await stoppedLedger();
  await copy(stores.databaseUrl, store.url);

  // No process keeps read models yet.
  const front = await start({ ...onEventStore(), ROLES: 'api' });
  const api = asSeenBy(front, tenant);
  await eventually(async () => (await api.get('/users')).status === 503);
  const answer = await api.get('/users');
  expect(outcome(answer)).toEqual(refusal(503, 'UNAVAILABLE'));
  expect(answer.headers.get('retry-after')).toBe('1');
  expect((await api.post('/accountsync', { id: 'x' })).status).toBe(503);
  expect((await fetch(`${front.origin}/health/live`)).status).toBe(200);
  expect((await fetch(`${front.origin}/metrics`)).status).toBe(200);
  expect(await isReady(front)).toBe(false);
  expect(await rows('select rebuilt from ledger.followed_log')).toEqual([{ rebuilt: false }]);

  await start({ ...onEventStore(), ROLES: 'projector,worker' });
  await eventually(() => isReady(front));
  expect(await answers(api)).toEqual(answered);
  expect(await rows('select rebuilt from ledger.followed_log')).toEqual([{ rebuilt: true }]);
}, 120_000);

test('a database with its own log is not started on another one, with the reason', async () => {
  const { tenant, answered } = await stoppedLedger();

  const astray = await start(onEventStore());
  await eventually(async () =>
    String((await logCheck(astray))['problem']).includes(
      'this database follows another log than this one',
    ),
  );
  expect(await isReady(astray)).toBe(false);
  // What is known is shown; nothing is added to it.
  const api = asSeenBy(astray, tenant);
  expect((await api.post('/accountsync', { id: 'x' })).status).toBe(503);
  await stop(astray);

  const after = await start();
  await eventually(() => isReady(after));
  expect(await answers(asSeenBy(after, tenant))).toEqual(answered);
  await stop(after);
  // The store took nothing: the copy finds it empty.
  expect(await copy(stores.databaseUrl, store.url)).toMatchObject({ found: 0, isRecorded: true });
}, 120_000);

test('a copy to its source, or over the followed log, is refused', async () => {
  await stop(await start());
  await expect(copy(stores.databaseUrl, stores.databaseUrl)).rejects.toThrow(/the same log/);
  await expect(copy(store.url, stores.databaseUrl)).rejects.toThrow(
    /copy from it, or correct DATABASE_URL/,
  );
});
