// Over 5 s: rebuilds of all read models, and commands that each open the stores.
import { digestOf } from '../../src/foundation/canonical-json.js';
import {
  planRebuild,
  rebuildProjections,
  showHistory,
  showParkedStreams,
  showStatus,
} from '../../src/operations/projections/projection-commands.js';
import { type ProjectionOperator } from '../../src/operations/projections/projection-operator.js';
import {
  repairProjections,
  retryParked,
} from '../../src/operations/projections/projection-repairs.js';
import { runHere, type Ran } from '../support/command-line.js';
import { eventually } from '../support/embedded.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { personal, useService, useTenant } from '../support/running-service.js';
import { insisting, withProjections } from '../support/operations.js';

type Json = Record<string, unknown>;

const running = useService();
const tenant = useTenant(running);
const [account, user] = [personal('acc'), personal('usr')];
const warnings: string[] = [];

beforeAll(async () => {
  await open(account, user);
  await give(100);
});

async function open(accountId: string, userId: string): Promise<void> {
  const created = await tenant.live.post(`/open/account/${accountId}/user/${userId}`, {
    id: userId,
    accountId,
  });
  expect(created.status).toBeLessThan(300);
}

async function give(assignedCredit: number, accountId = account, userId = user): Promise<void> {
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit };
  expect(
    (await tenant.live.post(`/rewards/account/${accountId}/user/${userId}`, reward)).status,
  ).toBeLessThan(300);
}

async function available(): Promise<unknown> {
  const { body } = await tenant.live.get<readonly Json[]>(`/reward/balance?accountId=${account}`);
  return body[0]?.['totalAvailableCredit'] ?? body;
}

const cli = (...words: readonly string[]): Promise<Ran> =>
  runHere(running.stores, ['projection', ...words]);

/** The same as the command line, in this process. */
function operate<T>(work: (operator: ProjectionOperator) => Promise<T>, name = 'test'): Promise<T> {
  return insisting(withProjections<T>)(
    running.service.service.core,
    {
      by: { name, channel: 'cli' },
      signal: new AbortController().signal,
      warn: (line) => void warnings.push(line),
    },
    work,
  );
}

const of = ({ parts }: ProjectionOperator, name?: string) =>
  parts.projectors.filter((projector) => name === undefined || projector.name === name);
const rebuilt = (name?: string) =>
  operate((operator) => rebuildProjections(operator, of(operator, name)));
const repaired = (name: string, more: { tenant?: string; account?: string } = {}) =>
  operate((operator) =>
    repairProjections(operator, of(operator, name), {
      tenant: tenant.alias,
      mode: 'live',
      ...more,
    }),
  );
const shown = async () =>
  (await operate(showStatus)).find(({ name }) => name === 'reward-balances');
const history = () => operate((operator) => showHistory(operator, 100));

const breakBalances = (generation: number) =>
  running.service.service.core.pool.query(
    `update rm_reward_balances_${generation}.reward_balances set available_credit = available_credit + 5`,
  );

test('a wrong balance is unchanged by a rebuild, shown by the diff, and corrected by a repair on record', async () => {
  expect(await available()).toBe(100);
  await breakBalances(1);
  expect(await available()).toBe(105);
  const plan = await operate((operator) => planRebuild(operator, of(operator, 'reward-balances')));
  expect(plan).toMatchObject({ dryRun: true, projections: [{ generation: 2, liveGeneration: 1 }] });
  const built = await cli('rebuild', 'reward-balances', '--by', 'Ada', '--json');
  expect(built.code).toBe(0);
  // Progress goes to standard error, in plain lines.
  expect(built.err).toMatch(/^reading: \d+/);
  expect(JSON.parse(built.out)).toMatchObject({
    projections: [
      { projection: 'reward-balances', generation: 2, liveGeneration: 1, differences: 1 },
    ],
  });
  expect(await available()).toBe(105);

  const diff = await cli('diff', 'reward-balances', '--json');
  expect(diff).toMatchObject({ code: 2, err: '1 rows of reward-balances differ\n' });
  const position = await running.service.head();
  expect(JSON.parse(diff.out)).toMatchObject({
    projection: 'reward-balances',
    position,
    count: 1,
    differences: [
      {
        table: 'reward_balances',
        tenant: tenant.alias,
        mode: 'live',
        kind: 'changed',
        columns: [{ column: 'available_credit', live: 105, new: 100 }],
      },
    ],
  });
  // A comparison does not show personal data.
  for (const word of [account, user]) expect(diff.out).not.toContain(word);

  const repair = await repaired('reward-balances', { account });
  expect(repair).toMatchObject({
    projections: [{ generation: 1, changed: 1, added: 0, removed: 0 }],
  });
  expect(await available()).toBe(100);
  const entries = await history();
  expect(entries).toMatchObject(
    ['repair', 'rebuild'].map((action) => ({ action, outcome: 'done' })),
  );
  expect(entries.at(-1)).toMatchObject({
    actor: 'cli:Ada',
    generation: 2,
    previous: 1,
    projection: 'reward-balances',
  });
  expect(JSON.stringify(entries)).not.toContain(account);

  // A repair changes what one tenant is shown: it is on record in that tenant's log as well.
  const { core } = running.service.service;
  const accountRef = core.names.accountRef(tenant.scope, account);
  expect(await recordedOperations(core, tenant.scope)).toMatchObject([
    {
      operation: 'projection rebuild',
      by: { value: 'test' },
      resultDigest: digestOf(repair),
      parameters: { projections: 'reward-balances', account: accountRef },
    },
  ]);
});

test('a rebuild succeeds when its line of history cannot be written, and reports that', async () => {
  const { pool } = running.service.service.core;
  await pool.query(`create function ledger.refuse_history() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$;
    create trigger refuse_history before update on ledger.projection_history for each row when (new.outcome = 'done')
      execute function ledger.refuse_history()`);
  try {
    const before = warnings.length;
    expect(await rebuilt('users')).toMatchObject({ projections: [{ projection: 'users' }] });
    expect(warnings.slice(before)).toEqual([
      expect.stringMatching(/^the rebuild stands; its line of history could not be written: /),
    ]);
  } finally {
    await pool.query('drop function ledger.refuse_history cascade');
  }
});

test('accounts whose rows the table refuses are parked, and retry-parked releases those whose rows it accepts by now', async () => {
  const { pool } = running.service.service.core;
  const before = Number(await available());
  const table = `rm_reward_balances_${(await shown())?.generation}.reward_balances`;
  const parked = async () => (await shown())?.parked;
  await pool.query(
    `alter table ${table} add constraint narrow check (available_credit <= ${before})`,
  );
  const [rich, owner] = [personal('acc'), personal('usr')];
  await open(rich, owner);
  await give(1_000);
  await give(9_000, rich, owner);
  await eventually(async () => (await parked()) === 2);
  expect((await shown())?.lastError).toMatch(/^database error 23514 .*narrow/);
  expect(await available()).toBe(before);
  const listed = await cli('parked', '--json');
  expect(listed.code).toBe(0);
  expect(JSON.parse(listed.out)).toEqual(
    [1, 2].map(() => ({
      projection: 'reward-balances',
      stream: expect.stringMatching(/^referral-account-live/) as string,
      position: expect.any(String) as string,
      reason: expect.stringContaining('narrow') as string,
      events: expect.any(Number) as number,
      since: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      tenant: tenant.alias,
      mode: 'live',
      account: expect.any(String) as string,
    })),
  );
  const parkedAccounts = (JSON.parse(listed.out) as Json[]).map((entry) => entry['account']);
  expect(parkedAccounts.sort()).toEqual([account, rich].sort());
  expect(listed.out).not.toContain(owner);
  expect(await operate((operator) => showParkedStreams(operator, 1))).toHaveLength(1);
  const stillNarrow = await cli('retry-parked', 'reward-balances', '--json');
  expect(stillNarrow.code).toBe(0);
  expect(JSON.parse(stillNarrow.out)).toEqual({
    projections: [{ projection: 'reward-balances', retried: 2, released: 0, parked: 2 }],
  });

  const whole = await cli('rebuild', 'reward-balances', '--tenant', tenant.alias);
  expect([whole.code, whole.out]).toEqual([1, '']);
  expect(whole.err.trim().split('\n').at(-1)).toMatch(
    /^nothing was changed: a table of the projection refuses a row .*23514 .*narrow\); remove a constraint .* run this again$/,
  );

  await pool.query(
    `alter table ${table} drop constraint narrow, add constraint narrow check (available_credit <= ${before + 1_000}) not valid`,
  );
  const released = await cli('retry-parked', '--json');
  expect(released.code).toBe(0);
  expect(JSON.parse(released.out)).toMatchObject({
    projections: expect.arrayContaining([
      { projection: 'reward-balances', retried: 2, released: 1, parked: 1 },
    ]) as unknown,
  });
  expect([await parked(), await available()]).toEqual([1, before + 1_000]);

  await pool.query(`alter table ${table} drop constraint narrow`);
  await operate((operator) => retryParked(operator, of(operator)));
  expect(await shown()).toMatchObject({ parked: 0, lastError: null });
  expect(await operate((operator) => showParkedStreams(operator, 10))).toEqual([]);
});

test('projection skip lets a parked account continue without the event, with operator and reason on record', async () => {
  const { core } = running.service.service;
  const name = 'reward-balances';
  const table = `rm_reward_balances_${(await shown())?.generation}.reward_balances`;
  await core.pool.query(
    `alter table ${table} add check (available_credit not between 7000 and 7999)`,
  );
  const [stuck, owner] = [personal('acc'), personal('usr')];
  await open(stuck, owner);
  await give(7_000, stuck, owner);
  await give(5, stuck, owner);
  const credit = async () => {
    const path = `/reward/balance?accountId=${stuck}`;
    return (await tenant.live.get<readonly Json[]>(path)).body[0]?.['totalAvailableCredit'];
  };
  await eventually(async () => (await shown())?.parked === 1);
  const [parked] = JSON.parse((await cli('parked', '--json')).out) as Json[];
  const skip = ['skip', name, '--reason', 'ticket 7', '--by', 'Sam', '--json'];
  const named = ['--tenant', tenant.alias, '--account', stuck];
  for (const wrong of [['--tenant', tenant.alias], [...named, '--stream', 'x'], []])
    expect((await cli(...skip, ...wrong)).code).toBe(1);
  const skipped = await cli(...skip, ...named);
  expect([skipped.code, JSON.parse(skipped.out)]).toEqual([0, parked]);
  expect(await shown()).toMatchObject({ parked: 0, skipped: 1, lastError: null });
  expect(await credit()).toBe(5);
  const health = await fetch(`${running.service.origin}/health/ready`);
  expect(((await health.json()) as { checks: Json }).checks[`projection ${name}`]).toMatchObject({
    skipped: 1,
    ok: true,
  });
  expect((await history())[0]).toMatchObject({
    action: 'skip',
    projection: name,
    tenant: tenant.alias,
    actor: 'cli:Sam',
    outcome: 'done',
    details: { position: parked?.['position'], reason: 'ticket 7', parked: 0 },
  });
  expect((await recordedOperations(core, tenant.scope)).at(-1)).toMatchObject({
    operation: 'projection skip',
    by: { value: 'Sam' },
    parameters: { projection: name, position: parked?.['position'] },
    reason: { value: 'ticket 7' },
  });
  const again = await cli(...skip, '--stream', String(parked?.['stream']));
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringContaining('there is no such parked stream of reward-balances'),
  ]);
});
