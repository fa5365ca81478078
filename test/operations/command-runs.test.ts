import { asRun } from '../../src/cli/command-run.js';
import { NotDone, notDone } from '../../src/operations/outcome.js';
import { RecordedRuns, UNFINISHED_MAX, type RecordedRun } from '../../src/runs/recorded-runs.js';
import { eventually } from '../support/embedded.js';
import { runHere } from '../support/command-line.js';
import { useService, useTenant } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

const running = useService();
const tenant = useTenant(running);
const runs = openOnce(() => new RecordedRuns(core().pool, core().answerSealer, 1));
const core = () => running.service.service.core;

beforeAll(async () => {
  await tenant.live.post('/accountsync', { id: 'acme', subscription: { status: 'TRIAL' } });
});

const cli = async (...words: readonly string[]): Promise<number> =>
  (await runHere(running.stores, words)).code;

const newestOf = async (by: string): Promise<RecordedRun> => {
  const [newest] = await runs.list(by);
  if (newest === undefined) throw new Error(`${by} has no run`);
  return newest;
};

test.each([
  ['ledger replay', ['--account', 'acme'], { account: 'acme' }],
  ['ledger reconcile', [], { againstFile: false }],
  ['ledger digest', ['--sign'], { sign: true }],
  ['ledger verify', [], {}],
])('%s is a run of its operator, with its arguments and its document', async (name, more, kept) => {
  const { alias } = tenant;
  expect(await cli(...name.split(' '), alias, '--by', 'fay', '--json', ...more)).toBe(0);
  const run = await newestOf('fay');
  const scope = { tenant: alias, mode: 'live' };
  expect(run).toMatchObject({ operation: name, state: 'done', scope, parameters: kept });
  expect((await runs.find(run.id))?.result).not.toBeNull();
});

test('commands on projections are runs of no tenant; a look is none', async () => {
  expect(await cli('projection', 'rebuild', 'rewards', '--by', 'sam', '--json')).toBe(0);
  expect(await newestOf('sam')).toMatchObject({ operation: 'projection rebuild', scope: null });
  expect(await cli('projection', 'rollback', 'rewards', '--by', 'sam')).toBe(1);
  const refused = await newestOf('sam');
  expect(refused).toMatchObject({ operation: 'projection rollback', state: 'failed' });
  expect(refused.error).toMatch(/\S/);
  expect(await cli('projection', 'status', '--json')).toBe(0);
  expect((await runs.list('sam')).length).toBe(2);
});

const asked = (by: string, stop: () => void = () => undefined) => ({
  operation: 'ledger replay',
  by,
  scope: null,
  parameters: {},
  stop,
});

test('a command shows its progress, and stops on request', async () => {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const run = asRun(core(), asked('ben', stop), async (note) => {
    note('replaying', 3, 12);
    await new Promise((resolve) => {
      stopping.signal.addEventListener('abort', resolve);
    });
    return notDone('stopped');
  });
  const progress = { phase: 'replaying', done: 3, total: 12 };
  await eventually(async () => (await runs.list('ben'))[0]?.progress?.done === 3);
  expect(await newestOf('ben')).toMatchObject({ state: 'running', progress });
  await runs.requestStop((await newestOf('ben')).id);
  expect(await run).toBeInstanceOf(NotDone);
  expect(await newestOf('ben')).toMatchObject({ state: 'failed' });
});

test('a command without a place among the runs works without a run', async () => {
  const ids = Array.from({ length: UNFINISHED_MAX.ofOperator }, () => crypto.randomUUID());
  for (const id of ids) expect(await runs.begin({ ...asked('max'), id })).toBe(true);
  const document = { ok: true };
  expect(await asRun(core(), asked('max'), () => Promise.resolve(document))).toBe(document);
  const after = await runs.list('max');
  expect(after.map(({ id }) => id).sort()).toEqual([...ids].sort());
});
