// Over 5 s: commands on a service of its own, which each open the stores.
import type { Commands } from '../../src/command-handling/commands.js';
import { LogAheadOfClock } from '../../src/event-log/clock.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import { parseBalances } from '../../src/operations/ledger/balance-file.js';
import type { SelectionOptions } from '../../src/operations/ledger/ledger-selection.js';
import { withOwnKeys } from '../../src/cli/own-keys.js';
import { everythingProjected } from '../support/everything-projected.js';
import { path, query } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { aPerson, give, PAID } from '../support/people.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { runHere, type Ran } from '../support/command-line.js';
import { openOnce } from '../support/opened.js';
import { useService, type TestTenant } from '../support/running-service.js';
import {
  adjustWithAudit,
  metaBy,
  done,
  exportLedger,
  reconcileLedger,
  replayLedger,
  statementOfAccount,
} from '../support/operations.js';

const running = useService();
const core = openOnce(() => running.service.service.core);

const cli = (...words: readonly string[]): Promise<Ran> => runHere(running.stores, words);

async function user({ live }: TestTenant) {
  const { accountId, id: userId } = await aPerson(live);
  return { accountId, userId };
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

async function converted(
  tenant: TestTenant,
): Promise<{ readonly referrer: string; readonly referred: string }> {
  const { live } = tenant;
  const referrer = await aPerson(live);
  const { accountId: referred } = await aPerson(live, {}, { referral: { code: referrer.code } });
  await live.post('/accountsync', { id: referred, subscription: PAID });
  await eventually(async () => (await balanceOf(tenant, referrer.accountId))['CENTS'] === 1_000);
  return { referrer: referrer.accountId, referred };
}

/** Read from the log, for events of any process. */
const creditOf = async (
  tenant: TestTenant,
  { accountId }: { readonly accountId: string },
): Promise<Record<string, number>> =>
  closings((await statementOfAccount(core, tenant.scope, { account: accountId })).units);

const operationsOf = (tenant: TestTenant) => recordedOperations(core, tenant.scope);

test('a replay exits with 2 on a wrong balance, and compares no account that has changed since its moment', async () => {
  const tenant = await running.service.createTenant();
  const { referrer } = await converted(tenant);
  const { referrer: other } = await converted(tenant);
  await everythingProjected(core);
  const { rows } = await core.pool.query<{ generation: number }>(
    `select generation from ledger.projection_generations where projection = 'reward-balances' and state = 'live'`,
  );
  const table = `rm_reward_balances_${rows[0]?.generation}.reward_balances`;
  const ref = core.names.accountRef(tenant.scope, referrer);
  await core.pool.query(`update ${table} set available_credit = 9999 where account_ref = $1`, [
    ref,
  ]);
  expect((await replayLedger(core, tenant.scope, { account: other })).differences).toEqual([]);
  // Asked for a time when that account was not there yet, it is folded and not compared.
  const early = new Date(Date.now() - 3_600_000).toISOString();
  expect(await cli('ledger', 'replay', tenant.alias, '--as-of', early)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^OK: .* no difference in what was compared\n$/) as unknown,
    err: expect.stringContaining('4 accounts have changed since then: folded, not') as unknown,
  });
  const ofOne = await cli('ledger', 'replay', tenant.alias, '--account', referrer, '--json');
  expect([ofOne.code, JSON.parse(ofOne.out)]).toMatchObject([
    2,
    { notCompared: 0, differences: [{ account: referrer, ledger: 1_000, live: 9_999 }] },
  ]);
  expect(await cli('ledger', 'replay', tenant.alias)).toMatchObject({
    code: 2,
    out: expect.stringContaining('9999') as unknown,
    err: expect.stringContaining('replaying: 4 of 4') as unknown,
  });
}, 60_000);

test('a replay that was stopped continues where it was', async () => {
  const tenant = await running.service.createTenant();
  const { referrer } = await converted(tenant);
  const stopped = replayLedger(core, tenant.scope, {}, { signal: AbortSignal.abort() });
  await expect(stopped).rejects.toThrow('stopped; 0 differences in 0 accounts so far');
  const stream = core.names.accountStream(
    tenant.scope,
    core.names.accountRef(tenant.scope, referrer),
  );
  const first = (await core.log.readStream(stream)[Symbol.asyncIterator]().next()).value as
    { position: string } | undefined;
  const whole = await replayLedger(core, tenant.scope, {});
  const alone = await replayLedger(core, tenant.scope, { account: referrer });
  const rest = await replayLedger(core, tenant.scope, { resumeFrom: first?.position ?? '' });
  expect(rest.events).toBe(whole.events - alone.events);
});

test('a reconciliation rolls forward, and agrees with a file', async () => {
  const tenant = await running.service.createTenant();
  const { referrer, referred } = await converted(tenant);
  const owner = await aPerson(tenant.live);
  await give(tenant.live, owner, { assignedCredit: 500 });
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
  for (const period of [undefined, month])
    expect(await reconcileLedger(core, tenant.scope, { against: agrees, period })).toMatchObject({
      ok: true,
      differences: [],
      units: [{ unit: 'CENTS', closing: 1_200 }],
    });
  const before = await reconcileLedger(core, tenant.scope, { period: '2026-01' });
  expect(before).toMatchObject({ ok: true, units: [] });
  const differs = await file(`account,unit,balance\n${referrer},CENTS,701\nmissing,CENTS,1\n`);
  const { ok, differences } = await reconcileLedger(core, tenant.scope, { against: differs });
  expect({
    ok,
    differences: differences.map(({ account, ledger, against }) => [account, ledger, against]),
  }).toEqual({
    ok: false,
    differences: [
      [referrer, 700, 701],
      [owner.accountId, 500, null],
      ['missing', null, 1],
    ],
  });
});

const MISTAKE = {
  approvedBy: 'Ada',
  unit: 'CENTS',
  amount: 25,
  reason: 'mistake',
};
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

test('an adjustment refused because the log is ahead of the clock is not reported as possibly done', async () => {
  const refused = await withOwnKeys(core, { key: undefined }, () =>
    Promise.reject(new LogAheadOfClock()),
  ).then(() => '', String);
  expect(refused).toMatch(/clock-ahead\.md$/);
});

test('an adjustment whose answer was lost is reported as possibly done, with the key that makes a repetition harmless', async () => {
  const tenant = await running.service.createTenant();
  const { scope } = tenant;
  const owner = await user(tenant);
  const execute: Commands['execute'] = async (command) => {
    await core.commands.execute(command);
    throw new EventLogUnavailable('no answer within 4000 ms');
  };
  const losing = { ...core, commands: { execute } };
  const meta = metaBy('Sam', core, scope, 'ledger adjust');
  const reported = await withOwnKeys(losing, { key: undefined }, (keyed) =>
    adjustWithAudit(losing, meta, { ...owner, ...MISTAKE }, keyed),
  ).then(() => '', String);
  expect(reported).toMatch(/no answer within 4000 ms: .* may stand/);
  const [, key = ''] = /--idempotency-key (\S+)/.exec(reported) ?? [];
  const again = await cli(...wordsOf(tenant, owner, '+25', key));
  expect(again).toMatchObject({
    code: 0,
    err: 'a repetition: nothing changed a second time\n',
  });
  expect(await creditOf(tenant, owner)).toEqual({ CENTS: 25 });
});

test('an export stops where its reader ends, also in a tenant without events', async () => {
  const empty = await running.service.createTenant();
  const [event] = await core.log.readAll(undefined, 1);
  if (event === undefined) throw new Error('the log is empty');
  const readAll = () => Promise.resolve([{ ...event, stream: 'of another tenant' }]);
  const log = Object.assign(Object.create(core.log) as EventLog, { readAll });
  const stopped = exportLedger(
    { ...core, log },
    { ...empty.scope, mode: 'test' },
    { onPage: () => Promise.reject(new Error('the reader has left')) },
    () => Promise.resolve(),
  );
  await expect(stopped).rejects.toThrow('the reader has left');
});

test('an export has the events of one tenant and mode, decrypted, without secrets and forgotten people', async () => {
  const tenant = await running.service.createTenant();
  const other = await running.service.createTenant();
  const owner = await user(tenant);
  const gone = await user(tenant);
  await user(other);
  const endpointUrl = 'https://receiver.invalid/webhooks';
  expect((await tenant.live.post('/subscription', { endpointUrl })).status).toBeLessThan(300);
  await tenant.live.call('DELETE', `/open/account${path(gone.accountId)}`);
  const lines: string[] = [];
  const write = (text: string): Promise<void> =>
    Promise.resolve(void lines.push(...text.trimEnd().split('\n')));
  const { events } = await exportLedger(core, tenant.scope, {}, write);
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
    parsed.filter(({ type }) => type === 'AccountOpened').map(({ data }) => data.accountId?.value),
  ).toEqual([owner.accountId, null]);
  const text = lines.join('\n');
  for (const absent of [gone.accountId, gone.userId, tenant.liveKey, 'KeyIssued', 'SecretIssued'])
    expect(text).not.toContain(absent);
  expect(text).toContain(owner.userId);
  expect(text).toContain('WebhookSubscribed');
});

test('the audit entry of an operation may fail: a finished change is answered as done, and an operation without a change fails', async () => {
  const tenant = await running.service.createTenant();
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
    expect(closed).toMatchObject({ code: 0, out: '2026-01 is closed\n' });
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

test('the statement of a month is that of the account, or of the tenant without one, and shows corrections', async () => {
  const tenant = await running.service.createTenant();
  const owner = await user(tenant);
  const words = [...wordsOf(tenant, owner, '+25', 'month'), '--by', 'fay'];
  expect(await cli(...words)).toMatchObject({ code: 0 });
  expect(await cli(...words.map((word) => (word === 'CENTS' ? 'CENTZ' : word)))).toMatchObject({
    code: 1,
    err: expect.stringContaining('the tenant has no unit "CENTZ"') as unknown,
  });
  await everythingProjected(core);
  const month = new Date().toISOString().slice(0, 7);
  const statement = (...given: string[]) =>
    cli('ledger', 'statement', tenant.alias, ...given, '--month', month);
  const ofAccount = await statement(owner.accountId, '--json');
  expect(JSON.parse(ofAccount.out)).toMatchObject({
    account: owner.accountId,
    units: [{ unit: 'CENTS', lines: [{ amount: 25, proposedBy: 'fay', reason: 'mistake' }] }],
  });
  const { out } = await statement(owner.accountId);
  expect(out).toContain('mistake (proposed by fay, approved by Ada)');
  expect(out).toMatch(/^total\t.*\t25\t25\t/m);
  const ofTenant = await statement('--json');
  expect(JSON.parse(ofTenant.out)).toMatchObject({
    tenant: tenant.alias,
    from: `${month}-01`,
    units: [{ opening: 0, closing: 25 }],
  });
  expect((await statement()).out).toMatch(/^total\t25\t0\t0\t0\t0\t0\t25$/m);
  process.stdout.isTTY = true;
  try {
    expect((await statement()).out).toMatch(/^total +\$0\.25 .* \$0\.25$/m);
    expect((await statement(owner.accountId)).out).toMatch(/^total +\$0\.25 +\$0\.25$/m);
  } finally {
    process.stdout.isTTY = false;
  }
  expect(await cli('ledger', 'statement', tenant.alias)).toMatchObject({
    code: 1,
    err: 'name an account, or --month\n',
  });
});

test('a day without a time is the whole day', async () => {
  const tenant = await running.service.createTenant();
  const { accountId, at } = await aPerson(tenant.live);
  await give(tenant.live, { at }, { assignedCredit: 40 });
  const now = Date.now() + 1_000;
  const [today = '', yesterday = ''] = [now, now - 86_400_000].map((time) =>
    new Date(time).toISOString().slice(0, 10),
  );
  const coreAt = (time: number) => ({ ...core, tenants: { now: async () => time } });
  const closing = async (options: Pick<SelectionOptions, 'from' | 'to' | 'asOf'>) => {
    const asked = { account: accountId, ...options };
    const { units } = await statementOfAccount(coreAt(now), tenant.scope, asked);
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
  const { units } = await statementOfAccount(coreAt(tomorrow), tenant.scope, {
    account: accountId,
    to: today,
  });
  expect(units.map((unit) => unit.closing)).toEqual([40]);
});

test('a statement of a unit that an account lacks names the unit', async () => {
  const tenant = await running.service.createTenant();
  const { accountId } = await user(tenant);
  const words = ['ledger', 'statement', tenant.alias, accountId];
  expect((await cli(...words)).out).toMatch(/\nno credit\n/);
  expect((await cli(...words, '--unit', 'EUR')).out).toMatch(/\nno credit in EUR; without --unit /);
  const ofAll = ['ledger', 'tenant-statement', tenant.alias, '--unit', 'EUR'];
  expect((await cli(...ofAll)).out).toMatch(/\nno credit in EUR; without --unit /);
});
