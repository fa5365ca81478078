import { eventually } from '../support/embedded.js';
import { runHere, type Ran } from '../support/command-line.js';
import { clockMovedBy, DAY_MS } from '../support/clock-of-process.js';
import { aPerson } from '../support/people.js';
import { openOnce } from '../support/opened.js';
import { useService, useTenant } from '../support/running-service.js';
import { recordedOperations } from '../support/recorded-operations.js';

const { service, stores } = useService();
const tenant = useTenant({ service });
const account = openOnce(() => aPerson(tenant.live));

const cli = (...words: readonly string[]): Promise<Ran> => runHere(stores, words);

const grant = async (): Promise<number> => {
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
  return (await tenant.live.post(`/rewards${account.at}`, reward)).status;
};

const readiness = async () => {
  const answer = await fetch(`${service.service.url}/health/ready`);
  const { checks } = (await answer.json()) as { checks: { clock: Record<string, unknown> } };
  return { status: answer.status, clock: checks.clock };
};

const aheadSeconds = async (): Promise<number> => {
  const metrics = await (await fetch(`${service.service.url}/metrics`)).text();
  return Number(/^ledger_clock_ahead_seconds (.*)$/m.exec(metrics)?.[1]);
};

const LATER_THAN_MONTH = /^1 entry of the log counts after the end of the month and is not in it$/m;

const errorLines = (): readonly string[] =>
  service.logText
    .split('\n')
    .filter((line) => line.includes('"level":50') && line.includes('ahead of the clock'));

it('a log ahead of the clock refuses writes while reads continue, until an operator accepts it', async () => {
  const leave = clockMovedBy(40 * DAY_MS);
  const ahead = await grant().finally(leave);
  expect(ahead).toBe(201);

  expect(await grant()).toBe(503);
  expect((await tenant.live.get(`/account/${account.accountId}`)).status).toBe(200);
  for (let probes = 0; probes < 3; probes++)
    expect(await readiness()).toMatchObject({
      status: 503,
      clock: { ok: false, problem: expect.stringMatching(/ 40 d ahead of the clock: docs/) },
    });
  await eventually(async () => (await aheadSeconds()) > 39 * 86_400);
  await eventually(async () => errorLines().length === 1);

  const today = new Date().toISOString().slice(0, 10);
  const statement = ['ledger', 'statement', tenant.alias, account.accountId, '--as-of', today];
  const stated = await cli(...statement, '--json');
  expect(stated).toMatchObject({ code: 0, err: expect.stringMatching(/no audit entry/) });
  expect(stated.err).toMatch(/^1 entry of the log counts after the end of the statement/m);
  expect(JSON.parse(stated.out)).toMatchObject({ account: account.accountId, units: [] });

  const adjusted = await cli(
    ...['ledger', 'adjust', tenant.alias, account.accountId, '--user', account.id],
    ...['--unit', 'CENTS', '--amount', '5', '--reason', 'r', '--approved-by', 'bea'],
  );
  expect(adjusted).toMatchObject({ code: 1, err: expect.stringMatching(/clock-ahead\.md\n$/) });

  const exported = await cli('ledger', 'export', tenant.alias, '--from', new Date().toISOString());
  expect(exported.code).toBe(0);
  expect(exported.out.split('\n').filter((line) => line.includes('"RewardGranted"'))).toHaveLength(
    1,
  );

  const accept = ['log', 'accept-clock', '--reason', 'ntp was wrong', '--by', 'ann'];
  const accepted = await cli(...accept, '--json');
  expect(accepted).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(accepted.out)).toMatchObject({ reason: 'ntp was wrong' });
  expect(await cli(...accept)).toMatchObject({ code: 1, out: '' });
  const { core } = service.service;
  const recorded = await recordedOperations(core, { tenant: tenant.alias, mode: 'live' });
  expect(recorded).toMatchObject([{ operation: 'log accept-clock', by: { value: 'ann' } }]);
  const { rows } = await core.pool.query(
    'select accepted_by, reason from ledger.clock_acceptances',
  );
  expect(rows).toEqual([{ accepted_by: 'cli:ann', reason: 'ntp was wrong' }]);

  expect(await grant()).toBe(201);
  await eventually(async () => (await readiness()).status === 200);
  expect((await core.log.check()).recordedAt).toBeLessThan(Date.now() + 60_000);
  const later = await cli(...statement);
  expect(later.err).toMatch(/^1 entry of the log counts after the end of the statement/);
  expect(later.out).toMatch(/closing.*\t100\t/);

  const [year = 0, month = 0] = today.split('-').map(Number);
  const period = new Date(Date.UTC(year, month - 2)).toISOString().slice(0, 7);
  const ofMonth = ['--period', period];
  const reconciled = await cli('ledger', 'reconcile', tenant.alias, ...ofMonth, '--json');
  expect(reconciled).toMatchObject({ code: 0, err: expect.stringMatching(LATER_THAN_MONTH) });
  const close = ['ledger', 'close', tenant.alias, ...ofMonth, '--comment', 'c', '--json'];
  const closed = await cli(...close);
  expect(closed.err).toMatch(LATER_THAN_MONTH);
  expect(JSON.parse(closed.out)).toEqual({
    period,
    status: 'closed',
    position: expect.any(String) as unknown,
  });
});
