import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { startServiceProcess } from '../harness/service-process.js';
import type { ShownRun } from '../../src/http/operations/operation-runs.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import {
  KEPT_RUNS,
  purgeRuns,
  RecordedRuns,
  UNFINISHED_MAX,
} from '../../src/runs/recorded-runs.js';
import { openOnce } from '../support/opened.js';
import { ApiClient, type Answer } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { makeOperators, personal, useService } from '../support/running-service.js';

const { service: here, stores } = useService();
const keys = openOnce(() =>
  makeOperators(stores, { sam: ['support'], sue: ['support'], fay: ['finance'] }),
);
const other = openOnce(async () => {
  const { databaseUrl: DATABASE_URL, masterKeyFile: MASTER_KEY_FILE } = stores;
  const { operatorsFile: OPERATORS_FILE } = stores;
  const env = { DATABASE_URL, MASTER_KEY_FILE, OPERATORS_FILE };
  const made = await startServiceProcess({ env: { ...env, DATABASE_CONNECTIONS_MAX: '23' } });
  await made.ready(60_000);
  return made;
}, 'kill');

const pool = () => here.service.core.pool;

const call = (
  [origin, name]: readonly [origin: string, name: string],
  [method, path]: readonly [method: string, path: string],
  body?: object,
): Promise<Answer<ShownRun>> =>
  new ApiClient(origin, '', `:${keys[name as keyof typeof keys]}`).call(method, `/${path}`, body);

/** A rebuild in the other process that waits for a lock until the work is done. */
async function duringRebuildThere(work: (id: string) => Promise<void>): Promise<void> {
  const client = await pool().connect();
  try {
    await client.query('begin');
    await client.query(
      `select from ledger.projection_checkpoints where projection = 'users' for update`,
    );
    const answered = call([other.url, 'sam'], ['POST', 'projections/rebuild'], {
      projection: 'users',
    }).catch((error: unknown) => error);
    let id = '';
    await eventually(async () => {
      const { rows } = await pool().query<{ id: string }>(
        `select id from ledger.operation_runs where state = 'running' and operation = 'projection rebuild'`,
      );
      id = rows[0]?.id ?? '';
      return id !== '';
    });
    await work(id);
    await client.query('rollback');
    await answered;
  } finally {
    client.release(true);
  }
}

const shownHere = async (id: string, name = 'sam') =>
  call([here.origin, name], ['GET', `runs/${id}`]);

const stateHere = async (id: string): Promise<string> => (await shownHere(id)).body.state;

const reportsOf = async (id: string): Promise<string> => {
  const { rows } = await pool().query<{ at: string }>(
    `select beat_at::text as at from ledger.operation_runs where id = $1 and cancel_requested`,
    [id],
  );
  return rows[0]?.at ?? '';
};

test('a run is watched, listed and stopped in another process, by its operator alone', async () => {
  let stopped = '';
  await duringRebuildThere(async (id) => {
    stopped = id;
    const shown = await shownHere(id);
    expect(shown).toMatchObject({
      status: 202,
      body: {
        operation: 'projection rebuild',
        by: 'sam',
        parameters: { projection: 'users' },
        state: 'running',
      },
    });
    // How far it is comes with its reports.
    await eventually(async () => (await shownHere(id)).body.progress !== null);
    expect((await shownHere(id, 'sue')).status).toBe(404);
    const cancelPath = ['POST', `runs/${id}/cancel`] as const;
    expect((await call([here.origin, 'sue'], cancelPath)).status).toBe(404);
    const listed = (await call([here.origin, 'sam'], ['GET', 'runs'])).body as unknown;
    expect(listed).toMatchObject([{ id, state: 'running' }]);
    expect((await call([here.origin, 'sam'], cancelPath)).status).toBe(200);
    // The process that runs it reads the request with its next report.
    const first = await reportsOf(id);
    let second = first;
    await eventually(async () => (second = await reportsOf(id)) !== first);
    await eventually(async () => (await reportsOf(id)) !== second);
  });
  await eventually(async () => (await stateHere(stopped)) === 'failed');
  expect((await shownHere(stopped)).body).toMatchObject({
    error: expect.stringMatching(/^stopped/),
    result: null,
  });
});

test('a run whose process is killed ends as failed, with the reason', async () => {
  await duringRebuildThere(async (id) => {
    await other.kill();
    await eventually(async () => (await stateHere(id)) === 'failed');
    const { status, body } = await shownHere(id);
    expect(status).toBe(200);
    expect(body.error).toBe('the process that ran it has ended: start it again');
    expect(body.finishedAt).not.toBeNull();
  });
});

describe('kept runs', () => {
  let presence: ProcessPresence;
  let recorded: RecordedRuns;

  beforeAll(async () => {
    presence = new ProcessPresence(pool());
    await presence.start();
    recorded = new RecordedRuns(pool(), here.service.core.answerSealer, presence.id);
  });
  afterAll(() => presence.stop());

  const newRun = (by: string, scope: { tenant: string; mode: 'live' } | null = null) => ({
    id: randomUUID(),
    operation: 'ledger replay',
    by,
    scope,
    parameters: { account: personal('acc') },
  });
  const difference = (account: string) => ({ account, readModel: 'rewards', ledger: 1, live: 2 });

  async function ended(
    run: ReturnType<typeof newRun>,
    differences: readonly object[],
  ): Promise<string> {
    expect(await recorded.begin(run)).toBe(true);
    await recorded.end(run.id, { result: { position: 'p', events: 1, differences } }, null);
    return run.id;
  }

  test('an operator has so many runs that are not over, all together have, and everybody has one', async () => {
    const many = async (by: string): Promise<number> => {
      let begun = 0;
      while (await recorded.begin(newRun(by))) begun += 1;
      return begun;
    };
    const { inAll, ofOperator } = UNFINISHED_MAX;
    for (let all = 0; all < inAll; all += ofOperator)
      expect(await many(personal('op'))).toBe(ofOperator);
    for (const by of [personal('op'), personal('op')]) expect(await many(by)).toBe(1);
    await pool().query(`delete from ledger.operation_runs where owner = $1`, [presence.id]);
  });

  test('a start whose answer was lost is over soon, though its process lives', async () => {
    const losing = {
      connect: async () => {
        const client = await pool().connect();
        const query = async (text: string, values?: unknown[]): Promise<unknown> => {
          const answer = await client.query(text, values);
          if (text === 'commit') throw new Error('the connection was lost');
          return answer;
        };
        return { query, release: () => client.release() };
      },
    } as unknown as Pool;
    const run = newRun('fay');
    const begun = new RecordedRuns(losing, here.service.core.answerSealer, presence.id).begin(run);
    await expect(begun).rejects.toThrow('lost');
    const silentFor = async (seconds: number): Promise<string> => {
      await pool().query(
        `update ledger.operation_runs set beat_at = now() - make_interval(secs => $2) where id = $1`,
        [run.id, seconds],
      );
      return (await shownHere(run.id, 'fay')).body.state;
    };
    expect(await silentFor(30)).toBe('running');
    expect(await silentFor(61)).toBe('failed');
    // A start that its process has all the same continues.
    await recorded.report([{ id: run.id, progress: null }]);
    expect((await shownHere(run.id, 'fay')).body.state).toBe('running');
    await recorded.end(run.id, { error: 'stopped' }, null);
  });

  test('arguments and results are encrypted, and long ones are cut', async () => {
    const account = personal('acc');
    const run = newRun('fay');
    const count = 30_000;
    const differences = Array.from({ length: count }, () => difference(account));
    await ended(run, differences);
    const { rows } = await pool().query<{ text: string; bytes: number }>(
      `select encode(parameters, 'escape') || encode(result, 'escape') as text, octet_length(result) as bytes
       from ledger.operation_runs where id = $1`,
      [run.id],
    );
    expect(rows[0]?.text).not.toContain(account);
    expect(rows[0]?.text).not.toContain(run.parameters.account);
    expect(rows[0]?.bytes).toBeLessThan(KEPT_RUNS.resultBytesMax + 1_000);
    const { body } = await shownHere(run.id, 'fay');
    const { result } = body as { result: { differences: object[]; cut: object } };
    expect(result.cut).toEqual({ differences: count });
    expect(result.differences.length).toBeGreaterThan(1_000);
    expect(result.differences[0]).toEqual(difference(account));
  });

  test('an erasure takes away what may name people, also of a run that is under way', async () => {
    const tenant = await here.createTenant();
    const [account, user] = [personal('acc'), personal('usr')];
    const path = `/open/account/${account}/user/${user}`;
    await tenant.live.post(path, { id: user, accountId: account });
    const scope = { tenant: tenant.alias, mode: 'live' as const };
    const naming = await ended(newRun('fay', scope), [difference(account)]);
    const nameless = await ended(newRun('fay', scope), []);
    const elsewhere = { tenant: `${tenant.alias}x`, mode: 'live' as const };
    const others = await ended(newRun('fay', elsewhere), [difference(personal())]);
    const underWay = newRun('fay', scope);
    await recorded.begin(underWay);

    expect((await tenant.live.call('DELETE', path)).status).toBe(204);
    const result = { position: 'p', events: 1, differences: [difference(account)] };
    await recorded.end(underWay.id, { result }, null);

    for (const id of [naming, underWay.id])
      expect((await shownHere(id, 'fay')).body).toMatchObject({
        state: 'done',
        parameters: {},
        result: null,
        error: 'people were forgotten since, and it may have named them: start it again',
      });
    expect((await shownHere(nameless, 'fay')).body).toMatchObject({
      parameters: {},
      result: { differences: [] },
      error: null,
    });
    expect((await shownHere(others, 'fay')).body.result).not.toBeNull();
  });

  test('the error of an import may quote its file and is deleted after a day, its counts stay', async () => {
    const run = {
      ...newRun(personal('op')),
      operation: 'import users',
      parameters: { dryRun: true },
    };
    expect(await recorded.begin(run)).toBe(true);
    await recorded.end(run.id, { error: 'ann@example.com is no column' }, null);
    const aged = async (hours: number) => {
      await pool().query(
        `update ledger.operation_runs set finished_at = now() - make_interval(hours => $2) where id = $1`,
        [run.id, hours],
      );
      await purgeRuns(pool());
      const { state, error, parameters } = (await recorded.find(run.id)) ?? {};
      return { state, error, parameters };
    };
    const kept = { state: 'failed', parameters: { dryRun: true } };
    const { resultHours } = KEPT_RUNS;
    expect(await aged(resultHours - 1)).toEqual({ ...kept, error: 'ann@example.com is no column' });
    expect(await aged(resultHours + 1)).toEqual({ ...kept, error: null });
  });

  test('results go after a day, runs after a month, and older ones than the newest of an operator', async () => {
    const by = 'fay';
    await pool().query(`delete from ledger.operation_runs where operator = $1`, [by]);
    const aged = async (id: string, hours: number): Promise<string> => {
      await pool().query(
        `update ledger.operation_runs set started_at = now() - make_interval(hours => $2), finished_at = now() - make_interval(hours => $2) where id = $1`,
        [id, hours],
      );
      return id;
    };
    const young = await ended(newRun(by), []);
    const old = await aged(await ended(newRun(by), []), KEPT_RUNS.resultHours + 1);
    const ancient = await aged(await ended(newRun(by), []), 24 * KEPT_RUNS.days + 1);
    await purgeRuns(pool());
    expect((await shownHere(young, by)).body.result).not.toBeNull();
    expect((await shownHere(old, by)).body).toMatchObject({
      state: 'done',
      result: null,
      error: 'its outcome is no longer kept: start it again',
    });
    expect((await shownHere(ancient, by)).status).toBe(404);
    const crowd = personal('o');
    await pool().query(
      `insert into ledger.operation_runs (id, operation, operator, owner, state, started_at, finished_at)
       select gen_random_uuid(), 'x', $1, 1, 'done', now() - make_interval(secs => n), now() from generate_series(1, $2) n`,
      [crowd, KEPT_RUNS.ofOperator + 5],
    );
    await purgeRuns(pool());
    const { rows } = await pool().query<{ count: number; oldest: number }>(
      `select count(*)::integer as count, round(max(extract(epoch from finished_at - started_at)))::integer as oldest
       from ledger.operation_runs where operator = $1`,
      [crowd],
    );
    expect(rows).toEqual([{ count: KEPT_RUNS.ofOperator, oldest: KEPT_RUNS.ofOperator }]);
  });
});
