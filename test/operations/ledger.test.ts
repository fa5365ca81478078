// Over 5 s: commands on a service of its own, which each open the stores.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Commands } from '../../src/command-handling/commands.js';
import type { Core } from '../../src/core/core.js';
import type { Scope } from '../../src/domain/scope.js';
import { LogAheadOfClock } from '../../src/event-log/clock.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import { PostgresAnswerRows } from '../../src/kept-answers/answer-rows.js';
import { KeptAnswers } from '../../src/kept-answers/kept-answers.js';
import { parseBalances } from '../../src/operations/ledger/balance-file.js';
import type { SelectionOptions } from '../../src/operations/ledger/ledger-selection.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { statementOfTenant } from '../../src/operations/ledger/tenant-statement.js';
import { accountProjectors } from '../../projections/account-projectors.js';
import type { OperatorAnswers } from '../../src/operations/operator-keys.js';
import { recordOperation } from '../../src/operations/audit.js';
import { withOwnKeys } from '../../src/cli/own-keys.js';
import { everythingProjected } from '../support/everything-projected.js';
import { path, query } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { runHere, type Ran } from '../support/command-line.js';
import {
  personal,
  startWithStores,
  type RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';
import {
  adjustLedger,
  adjustOnRecord,
  changePeriod,
  done,
  exportLedger,
  reconcileLedger,
  replayLedger,
  statementOfAccount,
} from '../support/operations.js';

/** What finance asks of a tenant's ledger, beside a running service on the same stores. */

let service: RunningService;
let stores: TestStores;
let end: () => Promise<void>;
let folder: string;
let core: Core;

beforeAll(async () => {
  ({ service, stores, end } = await startWithStores());
  ({ core } = service.service);
  folder = await mkdtemp(join(tmpdir(), 'ledger-finance-'));
});
afterAll(async () => {
  await end();
  await rm(folder, { recursive: true, force: true });
});

const cli = (...words: readonly string[]): Promise<Ran> => runHere(stores, words);

const scopeOf = ({ alias }: TestTenant): Scope => ({ tenant: alias, mode: 'live' });

async function user({
  live,
}: TestTenant): Promise<{ readonly accountId: string; readonly userId: string }> {
  const accountId = personal('acc');
  const userId = personal('user');
  await live.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
  await live.post('/user', { id: userId, accountId });
  return { accountId, userId };
}

async function give(
  { live }: TestTenant,
  { accountId, userId }: { accountId: string; userId: string },
  reward: object,
): Promise<string> {
  const { status, body } = await live.post<{ id: string }>(
    `/rewards/account${path(accountId)}/user${path(userId)}`,
    {
      type: 'CREDIT',
      unit: 'CENTS',
      assignedCredit: 1_000,
      ...reward,
    },
  );
  expect(status).toBe(201);
  return body.id;
}

async function balanceOf({ live }: TestTenant, accountId: string): Promise<Record<string, number>> {
  const { body } = await live.get<{ type: string; unit: string; totalAvailableCredit: number }[]>(
    `/reward/balance${query({ accountId })}`,
  );
  return Object.fromEntries(
    body
      .filter(({ type }) => type === 'CREDIT')
      .map(({ unit, totalAvailableCredit }) => [unit, totalAvailableCredit]),
  );
}

const closings = (
  units: readonly { readonly unit: string; readonly closing: number }[],
): Record<string, number> => Object.fromEntries(units.map(({ unit, closing }) => [unit, closing]));

/** A referral that has converted: the referrer has 1000 CENTS. */
async function converted(
  tenant: TestTenant,
): Promise<{ readonly referrer: string; readonly user: string; readonly referred: string }> {
  const code = personal('C').toUpperCase();
  const referrer = await user(tenant);
  await tenant.live.post('/user', {
    id: referrer.userId,
    accountId: referrer.accountId,
    referralCode: code,
  });
  const referred = personal('acc');
  await tenant.live.post('/accountsync', {
    id: referred,
    subscription: { status: 'TRIAL' },
    referral: { code },
  });
  await tenant.live.post('/user', { id: personal('user'), accountId: referred });
  const paid = { status: 'PAID', value: 5, billingIntervalType: 'MONTH', billingIntervalValue: 1 };
  await tenant.live.post('/accountsync', { id: referred, subscription: paid });
  await eventually(async () => (await balanceOf(tenant, referrer.accountId))['CENTS'] === 1_000);
  return { referrer: referrer.accountId, user: referrer.userId, referred };
}

/** Read from the log, for events of any process. */
const creditOf = async (
  tenant: TestTenant,
  { accountId }: { readonly accountId: string },
): Promise<Record<string, number>> =>
  closings((await statementOfAccount(core, scopeOf(tenant), { accountId })).units);

const operationsOf = (tenant: TestTenant) => recordedOperations(core, scopeOf(tenant));

describe('a statement', () => {
  test('closes with the balances of the account, now and at each position', async () => {
    const tenant = await service.createTenant();
    const { referrer, user: userId } = await converted(tenant);
    const owner = { accountId: referrer, userId };
    const said: { position: string; balance: Record<string, number> }[] = [];
    const note = async (headers: Headers): Promise<void> =>
      void said.push({
        position: headers.get('ledger-position') ?? '',
        balance: await balanceOf(tenant, referrer),
      });
    await give(tenant, owner, { unit: 'Points', assignedCredit: 70 });
    await give(tenant, owner, { dateScheduledFor: Date.now() + 86_400_000 });
    const cancelled = await give(tenant, owner, { unit: 'cents', assignedCredit: 40 });
    await note(
      (
        await tenant.live.post('/credit/bulkredeem', {
          accountId: referrer,
          unit: 'cents',
          amount: 300,
        })
      ).headers,
    );
    await note((await tenant.live.post(`/reward${path(cancelled)}/cancel`)).headers);
    await note(
      (
        await tenant.live.post('/credit/bulkredeem', {
          accountId: referrer,
          unit: 'POINTS',
          amount: 70,
        })
      ).headers,
    );
    for (const { position, balance } of said) {
      const statement = await statementOfAccount(core, scopeOf(tenant), {
        accountId: referrer,
        position,
      });
      expect({ position: statement.position, balance: closings(statement.units) }).toEqual({
        position,
        balance,
      });
    }
    const now = await statementOfAccount(core, scopeOf(tenant), {
      accountId: referrer,
      unit: 'cents',
    });
    expect(
      now.units.map(({ unit, lines }) => [
        unit,
        lines.map(({ type, amount, balance }) => [type, amount, balance]),
      ]),
    ).toEqual([
      [
        'CENTS',
        [
          ['issued', 1_000, 1_000],
          ['scheduled', 0, 1_000],
          ['issued', 40, 1_040],
          ['redeemed', -300, 740],
          ['cancelled', -40, 700],
        ],
      ],
    ]);
    const actors = now.units[0]?.lines.map(({ actor }) => actor.split(':')[0]);
    expect(actors).toEqual(['policy', 'api-key', 'api-key', 'api-key', 'api-key']);
  });
});

describe('a replay', () => {
  test('finds no difference in correct rows, and a wrong balance with the events that explain it', async () => {
    const tenant = await service.createTenant();
    const { referrer } = await converted(tenant);
    const { referrer: other } = await converted(tenant);
    await tenant.live.post('/credit/bulkredeem', {
      accountId: referrer,
      unit: 'cents',
      amount: 300,
    });
    await everythingProjected(core);
    const clean = await replayLedger(core, scopeOf(tenant), {});
    expect(clean).toMatchObject({ differences: [] });
    expect(clean.events).toBeGreaterThan(20);

    const { rows } = await core.pool.query<{ generation: number }>(
      `select generation from ledger.projection_generations where projection = 'reward-balances' and state = 'live'`,
    );
    const table = `rm_reward_balances_${rows[0]?.generation}.reward_balances`;
    const ref = core.names.accountRef(scopeOf(tenant), referrer);
    await core.pool.query(`update ${table} set available_credit = 9999 where account_ref = $1`, [
      ref,
    ]);
    const lines =
      (await statementOfAccount(core, scopeOf(tenant), { accountId: referrer })).units[0]?.lines ??
      [];
    const wrong = {
      account: referrer,
      readModel: 'reward-balances',
      ledger: 700,
      live: 9_999,
      field: expect.stringMatching(/\.available_credit$/) as unknown,
      eventIds: lines.map(({ eventId }) => eventId),
    };
    expect((await replayLedger(core, scopeOf(tenant), {})).differences).toEqual([wrong]);
    expect(
      (await replayLedger(core, scopeOf(tenant), { accountId: referrer })).differences,
    ).toEqual([wrong]);
    expect((await replayLedger(core, scopeOf(tenant), { accountId: other })).differences).toEqual(
      [],
    );
    // Asked for a time when that account was not there yet, it is folded and not compared.
    const early = new Date(Date.now() - 3_600_000).toISOString();
    expect(await replayLedger(core, scopeOf(tenant), { asOf: early })).toMatchObject({
      events: 0,
      notCompared: 4,
      differences: [],
    });
    expect(await cli('ledger', 'replay', tenant.alias, '--as-of', early)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^OK: .* no difference in what was compared\n$/) as unknown,
      err: expect.stringContaining('4 accounts have changed since then: folded, not') as unknown,
    });
    const ofOne = await cli('ledger', 'replay', tenant.alias, '--account', referrer, '--json');
    expect([ofOne.code, JSON.parse(ofOne.out)]).toMatchObject([
      2,
      { notCompared: 0, differences: [{ live: 9_999 }] },
    ]);
    expect(await cli('ledger', 'replay', tenant.alias)).toMatchObject({
      code: 2,
      out: expect.stringContaining('9999') as unknown,
      err: expect.stringContaining('replayed 4 of 4 accounts') as unknown,
    });
  }, 60_000);

  test('that was stopped continues where it was', async () => {
    const tenant = await service.createTenant();
    const { referrer } = await converted(tenant);
    const stopped = replayLedger(core, scopeOf(tenant), {}, { signal: AbortSignal.abort() });
    await expect(stopped).rejects.toThrow('stopped; 0 differences in 0 accounts so far');
    const stream = core.names.accountStream(
      scopeOf(tenant),
      core.names.accountRef(scopeOf(tenant), referrer),
    );
    const first = (await core.log.readStream(stream)[Symbol.asyncIterator]().next()).value as
      { position: string } | undefined;
    const whole = await replayLedger(core, scopeOf(tenant), {});
    const alone = await replayLedger(core, scopeOf(tenant), { accountId: referrer });
    const rest = await replayLedger(core, scopeOf(tenant), { resumeFrom: first?.position ?? '' });
    expect(rest.events).toBe(whole.events - alone.events);
  });
});

describe('a reconciliation', () => {
  test('rolls forward, and agrees with a file', async () => {
    const tenant = await service.createTenant();
    const { referrer, user: userId, referred } = await converted(tenant);
    const owner = await user(tenant);
    await give(tenant, owner, { assignedCredit: 500 });
    const cancelled = await give(tenant, { accountId: referrer, userId }, { assignedCredit: 20 });
    await tenant.live.post(`/reward${path(cancelled)}/cancel`);
    await tenant.live.post('/credit/bulkredeem', {
      accountId: referrer,
      unit: 'cents',
      amount: 300,
    });
    const file = async (content: string) => done(await parseBalances(content, 'balances.csv'));
    const month = new Date().toISOString().slice(0, 7);
    const agrees = await file(
      `account,unit,balance\r\n"${referrer}",cents,700\r\n${owner.accountId},CENTS,500\r\n${referred},CENTS,0\r\n`,
    );
    for (const period of [undefined, month]) {
      expect(
        await reconcileLedger(core, scopeOf(tenant), { against: agrees, period }),
      ).toMatchObject({
        ok: true,
        differences: [],
        units: [
          {
            unit: 'CENTS',
            opening: 0,
            issued: 1_520,
            redeemed: 300,
            expired: 0,
            cancelled: 20,
            restored: 0,
            closing: 1_200,
          },
        ],
      });
    }
    const before = await reconcileLedger(core, scopeOf(tenant), { period: '2026-01' });
    expect(before).toMatchObject({ ok: true, units: [] });
    const differs = await file(`account,unit,balance\n${referrer},CENTS,701\nnobody,CENTS,1\n`);
    const { ok, differences } = await reconcileLedger(core, scopeOf(tenant), { against: differs });
    expect({
      ok,
      differences: differences.map(({ account, ledger, against }) => [account, ledger, against]),
    }).toEqual({
      ok: false,
      differences: [
        [referrer, 700, 701],
        [owner.accountId, 500, null],
        ['nobody', null, 1],
      ],
    });
  });

  test('finds a conversion that was never rewarded', async () => {
    const tenant = await service.createTenant();
    const { referred, referrer } = await converted(tenant);
    const scope = scopeOf(tenant);
    const inTwoMinutes = Date.now() + 120_000;
    expect(await reconcileLedger(core, scope, {}, { now: inTwoMinutes })).toMatchObject({
      ok: true,
    });
    // The account that was to have the reward is another tenant's as far as this reading goes: its
    // stream is left out.
    const others = {
      ...core.log,
      readAll: core.log.readAll.bind(core.log),
      head: core.log.head.bind(core.log),
    };
    const stream = core.names.accountStream(scope, core.names.accountRef(scope, referred));
    const one = {
      ...core,
      log: Object.assign(Object.create(core.log) as typeof core.log, {
        readAll: async (after: string | undefined, limit: number) => {
          const page = await others.readAll(after, limit);
          return page.map((event) =>
            event.stream === stream ? event : { ...event, stream: 'another' },
          );
        },
      }),
    };
    expect(
      (await reconcileLedger(one, scope, {}, { now: inTwoMinutes })).differences,
    ).toMatchObject([
      {
        kind: 'conversion',
        account: referrer,
        unit: expect.stringMatching(/^referrer reward of /) as unknown,
      },
    ]);
  });
});

const wordsOf = (
  { alias }: TestTenant,
  { accountId, userId }: Awaited<ReturnType<typeof user>>,
  amount: string,
  key?: string,
): readonly string[] => [
  ...`ledger adjust ${alias} ${accountId} --user ${userId} --unit CENTS --json`.split(' '),
  ...`--amount ${amount} --reason mistake --approved-by Ada --by Sam`.split(' '),
  ...(key === undefined ? [] : ['--idempotency-key', key]),
];

/**
 * Kept answers as another process has them, whose end is `stop`; of its operations some may be
 * replaced.
 */
async function keysOfOperators(
  replaced: Partial<OperatorAnswers> = {},
): Promise<{ answers: OperatorAnswers; stop: () => Promise<void> }> {
  const presence = new ProcessPresence(core.pool);
  await presence.start();
  const answers = new KeptAnswers(
    new PostgresAnswerRows(core.pool, presence),
    core.answerSealer,
    core.keys,
  );
  return { answers: Object.assign(answers, replaced), stop: () => presence.stop() };
}

describe('an adjustment', () => {
  test('adds a manual reward or redeems, has its reason in its event, and is visible to clients', async () => {
    const tenant = await service.createTenant();
    const scope = scopeOf(tenant);
    const owner = await user(tenant);
    const staff = { by: 'Sam Staff', approvedBy: 'Ada Approver' };
    const adjust = (amount: number) =>
      adjustLedger(core, scope, {
        ...owner,
        ...staff,
        unit: 'CENTS',
        amount,
        reason: 'a double charge',
      });
    const added = await adjust(500);
    const taken = await adjust(-200);
    const { body } = await tenant.live.get<Record<string, unknown>[]>(
      `/reward${query({ accountId: owner.accountId })}`,
      {
        atLeast: taken.position ?? '',
      },
    );
    expect(body).toMatchObject([
      { rewardSource: 'MANUAL', type: 'CREDIT', assignedCredit: 500, redeemedCredit: 200 },
    ]);
    const { units } = await statementOfAccount(core, scope, { accountId: owner.accountId });
    expect(
      units[0]?.lines.map(({ eventId, actor, amount }) => ({ eventId, actor, amount })),
    ).toEqual([
      { eventId: added.eventId, actor: 'operator:Sam Staff', amount: 500 },
      { eventId: taken.eventId, actor: 'operator:Sam Staff', amount: -200 },
    ]);
    const stream = core.names.accountStream(scope, core.names.accountRef(scope, owner.accountId));
    for await (const event of core.log.readStream(stream)) {
      const [decoded] = await core.codec.decodeAll([event]);
      for (const text of ['Sam Staff', 'Ada Approver', 'a double charge'])
        expect(event.data).not.toContain(text);
      if (event.id === added.eventId || event.id === taken.eventId)
        expect(decoded?.event).toMatchObject({
          adjustment: {
            reason: { value: 'a double charge' },
            approvedBy: { value: 'Ada Approver' },
          },
        });
    }
    const head = await service.head();
    await expect(adjust(-301)).rejects.toThrow(/The amount 301 exceeds the available credit/);
    expect(await service.head()).toBe(head);
    expect((await replayLedger(core, scope, {})).differences).toEqual([]);
  });

  test('refused because the log is ahead of the clock is not reported as possibly done', async () => {
    const refused = await withOwnKeys(core, undefined, () =>
      Promise.reject(new LogAheadOfClock()),
    ).then(() => '', String);
    expect(refused).toMatch(/clock-ahead\.md$/);
  });

  test('whose answer was lost is reported as possibly done, with the key that makes a repetition harmless', async () => {
    const tenant = await service.createTenant();
    const scope = scopeOf(tenant);
    const owner = await user(tenant);
    const request = {
      ...owner,
      by: 'Sam',
      approvedBy: 'Ada',
      unit: 'CENTS',
      amount: 25,
      reason: 'mistake',
    };
    const execute: Commands['execute'] = async (command) => {
      await core.commands.execute(command);
      throw new EventLogUnavailable('no answer within 4000 ms');
    };
    const losing = { ...core, commands: { execute } };
    const told = await withOwnKeys(losing, undefined, (keyed) =>
      adjustOnRecord(losing, scope, request, keyed),
    ).then(() => '', String);
    expect(told).toMatch(/no answer within 4000 ms: .* may stand/);
    const [, key = ''] = /--idempotency-key (\S+)/.exec(told) ?? [];
    const again = await cli(...wordsOf(tenant, owner, '+25', key));
    expect(again).toMatchObject({
      code: 0,
      err: 'a repetition: nothing was corrected a second time\n',
    });
    expect(await creditOf(tenant, owner)).toEqual({ CENTS: 25 });
  });

  test('with the same idempotency key is the same correction, and another one is refused', async () => {
    const tenant = await service.createTenant();
    const owner = await user(tenant);
    const first = await cli(...wordsOf(tenant, owner, '+25', 'one'));
    expect(first).toMatchObject({ code: 0, err: '' });
    const again = await cli(...wordsOf(tenant, owner, '+25', 'one'));
    expect(again).toEqual({
      ...first,
      err: 'a repetition: nothing was corrected a second time\n',
    });
    const other = await cli(...wordsOf(tenant, owner, '+26', 'one'));
    expect(other).toEqual({
      code: 1,
      out: '',
      err: 'the idempotency key was used for another correction\n',
    });
    expect(await creditOf(tenant, owner)).toEqual({ CENTS: 25 });
    expect(await operationsOf(tenant)).toMatchObject([
      { parameters: { amount: '25' } },
      { parameters: { amount: '25', repeated: 'true' } },
    ]);
  });

  test('with an idempotency key has one effect and one answer although its process died before it could answer', async () => {
    const tenant = await service.createTenant();
    const scope = scopeOf(tenant);
    const owner = await user(tenant);
    const request = {
      ...owner,
      by: 'Sam',
      approvedBy: 'Ada',
      unit: 'CENTS',
      amount: 25,
      reason: 'mistake',
    };
    const dead = await keysOfOperators({ keep: () => new Promise<void>(() => undefined) });
    void adjustLedger(core, scope, request, { key: 'one', answers: dead.answers });
    await eventually(async () => (await creditOf(tenant, owner))['CENTS'] === 25);
    expect(await cli(...wordsOf(tenant, owner, '+25', 'one'))).toEqual({
      code: 1,
      out: '',
      err: 'a correction with this idempotency key is still under way\n',
    });
    await dead.stop();
    const again = await cli(...wordsOf(tenant, owner, '+25', 'one'));
    const { units } = await statementOfAccount(core, scope, { accountId: owner.accountId });
    const effects = units.flatMap(({ lines }) =>
      lines.map(({ eventId, position }) => ({ eventId, position })),
    );
    expect(effects).toHaveLength(1);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.out)).toEqual(effects[0]);
  });
});

describe('a period', () => {
  test('is closed once it is over, and reopened, each once', async () => {
    const scope = scopeOf(await service.createTenant());
    const request = { period: '2026-01', comment: 'tied out', by: 'Sam' };
    const test = { ...scope, mode: 'test' } as const;
    await expect(changePeriod(core, scope, 'ReopenPeriod', request)).rejects.toThrow(
      'the period 2026-01 is not closed',
    );
    expect(await changePeriod(core, scope, 'ClosePeriod', request)).toMatchObject({
      period: '2026-01',
      status: 'closed',
    });
    await expect(changePeriod(core, scope, 'ClosePeriod', request)).rejects.toThrow(
      'the period 2026-01 is closed already',
    );
    expect(await changePeriod(core, test, 'ClosePeriod', request)).toMatchObject({
      status: 'closed',
    });
    expect(await changePeriod(core, scope, 'ReopenPeriod', request)).toMatchObject({
      status: 'open',
    });
    const running = new Date().toISOString().slice(0, 7);
    await expect(
      changePeriod(core, scope, 'ClosePeriod', { ...request, period: running }),
    ).rejects.toThrow('is not over yet');
  });
});

describe('an export', () => {
  test('stops where its reader says so, also in a tenant without events', async () => {
    const empty = await service.createTenant();
    const [event] = await core.log.readAll(undefined, 1);
    if (event === undefined) throw new Error('the log is empty');
    const readAll = () => Promise.resolve([{ ...event, stream: 'of another tenant' }]);
    const log = Object.assign(Object.create(core.log) as EventLog, { readAll });
    const stopped = exportLedger(
      { ...core, log },
      { ...scopeOf(empty), mode: 'test' },
      { onPage: () => Promise.reject(new Error('the reader has left')) },
      () => Promise.resolve(),
    );
    await expect(stopped).rejects.toThrow('the reader has left');
  });

  test('has the events of one tenant and mode, decrypted, without secrets and forgotten people', async () => {
    const tenant = await service.createTenant();
    const other = await service.createTenant();
    const owner = await user(tenant);
    const gone = await user(tenant);
    await user(other);
    await tenant.live.call('DELETE', `/open/account${path(gone.accountId)}`);
    const lines: string[] = [];
    const write = (text: string): Promise<void> =>
      Promise.resolve(void lines.push(...text.trimEnd().split('\n')));
    const { events } = await exportLedger(core, scopeOf(tenant), {}, write);
    expect(lines).toHaveLength(events);
    const parsed = lines.map(
      (line) =>
        JSON.parse(line) as {
          tenant: string;
          type: string;
          data: { accountId?: { value: unknown } };
        },
    );
    expect(new Set(parsed.map((event) => event.tenant))).toEqual(new Set([tenant.alias]));
    expect(
      parsed
        .filter(({ type }) => type === 'AccountOpened')
        .map(({ data }) => data.accountId?.value),
    ).toEqual([owner.accountId, null]);
    const text = lines.join('\n');
    for (const secret of [gone.accountId, gone.userId, tenant.liveKey, '"sealed"'])
      expect(text).not.toContain(secret);
    expect(text).toContain(owner.userId);
  });
});

describe('the audit entry of an operation', () => {
  test('is in the log of the tenant, without a readable name', async () => {
    const tenant = await service.createTenant();
    const { accountId } = await user(tenant);
    const words = ['ledger', 'statement', tenant.alias, accountId, '--by', 'Sam Staff'];
    const ran = await cli(...words, '--json');
    const again = await cli(...words, '--format', 'json');
    expect(ran.code).toBe(0);
    expect(again.out).toBe(ran.out);
    const { digest } = JSON.parse(ran.out) as { digest: string };
    const account = core.names.accountRef(scopeOf(tenant), accountId);
    const recorded = {
      type: 'OperationRecorded',
      operation: 'ledger statement',
      by: { value: 'Sam Staff' },
      parameters: { account },
      resultDigest: digest,
    };
    expect(await operationsOf(tenant)).toMatchObject([recorded, recorded]);
    await recordOperation(core, scopeOf(tenant), {
      operation: 'ledger close',
      by: 'x',
      parameters: { period: undefined },
      result: { a: 1 },
    });
    expect((await operationsOf(tenant)).at(-1)).toMatchObject({
      parameters: {},
      resultDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    });
    const events = await core.log.readAll(undefined, 10_000);
    for (const { data, metadata } of events) expect(`${data}${metadata}`).not.toMatch(/Sam Staff/);
  });

  test('may fail: a finished change is answered as done, and an operation without a change fails', async () => {
    const tenant = await service.createTenant();
    const { accountId, userId } = await user(tenant);
    await core.pool.query(`
      create function ledger.refuse_audit() returns trigger language plpgsql
        as $$ begin raise exception 'no room for it'; end $$;
      create trigger refuse_audit before insert on ledger.events
        for each row when (new.type = 'OperationRecorded')
        execute function ledger.refuse_audit()`);
    try {
      const adjusted = await cli(...wordsOf(tenant, { accountId, userId }, '+25'));
      expect(adjusted).toMatchObject({
        code: 0,
        err: 'the correction stands; the audit entry could not be written: no room for it\n',
      });
      expect(JSON.parse(adjusted.out)).toEqual({
        eventId: expect.any(String) as unknown,
        position: expect.any(String) as unknown,
      });
      const closed = await cli(
        'ledger',
        'close',
        tenant.alias,
        '--period',
        '2026-01',
        '--comment',
        'c',
      );
      expect(closed).toMatchObject({ code: 0, out: `${tenant.alias}: 2026-01 is closed\n` });
      expect(closed.err).toMatch(
        /^2026-01 is closed; the audit entry could not be written: [^\n]+\n$/,
      );
      const stated = await cli('ledger', 'statement', tenant.alias, accountId, '--json');
      expect(stated).toEqual({ code: 1, out: '', err: 'no room for it\n' });
    } finally {
      await core.pool.query('drop function ledger.refuse_audit cascade');
    }
    expect(await balanceOf(tenant, accountId)).toEqual({ CENTS: 25 });
    expect(await operationsOf(tenant)).toEqual([]);
  });
});

test('a day without a time is the whole day', async () => {
  const tenant = await service.createTenant();
  const { accountId, userId } = await user(tenant);
  await give(tenant, { accountId, userId }, { assignedCredit: 40 });
  const now = Date.now() + 1_000;
  const [today = '', yesterday = ''] = [now, now - 86_400_000].map((time) =>
    new Date(time).toISOString().slice(0, 10),
  );
  const closing = async (options: Pick<SelectionOptions, 'from' | 'to' | 'asOf'>) => {
    const asked = { accountId, ...options };
    const { units } = await statementOfAccount(core, scopeOf(tenant), asked, now);
    return units.map(({ opening, closing: end, lines }) => [opening, lines.length, end]);
  };
  expect(await closing({ from: today, to: today })).toEqual([[0, 1, 40]]);
  expect(await closing({ asOf: today })).toEqual([[0, 1, 40]]);
  expect(await closing({ to: yesterday })).toEqual([]);
  // Both end on one day: the earlier end counts.
  const soon = new Date(now - 500).toISOString();
  expect(await closing({ to: today, asOf: soon })).toEqual(await closing({ asOf: soon }));
  await expect(closing({ to: today, asOf: yesterday })).rejects.toThrow('to lies after asOf');
  // The last moment of the day, seen from the next one.
  const tomorrow = now + 86_400_000;
  const { units } = await statementOfAccount(
    core,
    scopeOf(tenant),
    { accountId, to: today },
    tomorrow,
  );
  expect(units.map((unit) => unit.closing)).toEqual([40]);
});

test('an entry ahead of the clock on the present day is in no statement up to today', async () => {
  const tenant = await service.createTenant();
  const scope = scopeOf(tenant);
  const { accountId, userId } = await user(tenant);
  await give(tenant, { accountId, userId }, { assignedCredit: 100 });
  const first = Date.now();
  await eventually(() => Promise.resolve(Date.now() > first));
  await give(tenant, { accountId, userId }, { assignedCredit: 50 });
  await give(tenant, { accountId, userId }, { unit: 'POINTS', assignedCredit: 10 });
  await everythingProjected(core);
  const to = new Date(first).toISOString().slice(0, 10);
  const closings = async (now: number) => {
    const ofAccount = await statementOfAccount(core, scope, { accountId, to }, now);
    const options = { projectors: accountProjectors, now };
    const ofTenant = done(await statementOfTenant(core, scope, { to }, options));
    return [ofAccount, ofTenant].map(({ units }) =>
      Object.fromEntries(units.map(({ unit, closing }) => [unit, closing])),
    );
  };
  expect(await closings(first)).toEqual([{ CENTS: 100 }, { CENTS: 100 }]);
  const all = { CENTS: 150, POINTS: 10 };
  expect(await closings(Date.now())).toEqual([all, all]);
});

test('a statement of a unit that an account lacks says which unit was asked for', async () => {
  const tenant = await service.createTenant();
  const { accountId } = await user(tenant);
  const words = ['ledger', 'statement', tenant.alias, accountId];
  expect((await cli(...words)).out).toMatch(/\nno credit\n/);
  expect((await cli(...words, '--unit', 'EUR')).out).toMatch(/\nno credit in EUR; without --unit /);
  const ofAll = ['ledger', 'tenant-statement', tenant.alias, '--unit', 'EUR'];
  expect((await cli(...ofAll)).out).toMatch(/\nno credit in EUR; without --unit /);
});
