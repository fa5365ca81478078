import type pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { releaseOf } from '../../src/stores/release.js';
import { NotDone, outcomeOf } from '../../src/operations/outcome.js';
import type { RecordingOperator } from '../../src/operations/projections/projection-operator.js';
import { confirmRelease, showRelease } from '../../src/operations/releases/release-commands.js';
import {
  DatabaseNewerThanCode,
  migrateToLatest,
  MIGRATION_NAMES,
} from '../../src/postgres/migrator.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { ensureOwnGenerations } from '../../src/projecting/generations/generations.js';
import { projectionHistory } from '../../src/projecting/generations/projection-history.js';
import type { Projector } from '../../src/projecting/projector.js';
import { eventually } from '../support/embedded.js';
import { withOtherTables } from '../support/next-release.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { openForEach } from '../support/opened.js';

const LAST = MIGRATION_NAMES.at(-1) ?? '';
const OLDER = { '0000_older': { up: () => Promise.resolve() } };
const newer = withOtherTables('users');

const projected = openForEach(() => ProjectedLedger.open(), 'close');
let pool: pg.Pool;
beforeEach(async () => {
  ({ pool } = projected);
  // The older release was here first, and does not know the last migration.
  await ensureOwnGenerations(pool, accountProjectors);
  await pool.query(
    `with newest as (delete from ledger.migration where name = $1 returning *)
     insert into ledger.migration_unconfirmed select * from newest`,
    [LAST],
  );
  await pool.query(`insert into ledger.migration values ('0000_older', '')`);
});

const operatorOf = (projectors: readonly Projector[]): RecordingOperator => ({
  parts: { pool, log: projected.log, decode: projected.ledger.decode, projectors },
  by: { name: 'ann', channel: 'cli' },
  signal: new AbortController().signal,
  warn: () => undefined,
});

const refusal = async (projectors: readonly Projector[]): Promise<string> => {
  const outcome = await outcomeOf(() => confirmRelease(operatorOf(projectors)));
  return outcome instanceof NotDone ? outcome.text() : 'none';
};

const states = async (): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ state: string }>(
    `select generation || ' ' || state as state from ledger.projection_generations
     where projection = 'users' order by generation`,
  );
  return rows.map(({ state }) => state);
};

const caughtUp = (): Promise<unknown> =>
  pool.query('update ledger.projection_generations set complete = true');

test('a release is confirmed once its read models are built and no process of another one runs', async () => {
  expect(await refusal(newer)).toContain('are not built yet (users)');
  await ensureOwnGenerations(pool, newer);
  expect(await refusal(newer)).toContain('are not built yet (users)');
  await caughtUp();

  const own = new ProcessPresence(pool, releaseOf(newer));
  const others = [
    new ProcessPresence(pool, releaseOf(accountProjectors)),
    new ProcessPresence(pool),
  ];
  await Promise.all([own, ...others].map((each) => each.start()));
  expect(await showRelease(operatorOf(newer))).toMatchObject({
    confirmed: false,
    otherProcesses: 2,
    migrations: { unconfirmed: [LAST], unknown: [] },
  });
  expect(await refusal(newer)).toContain('2 processes of another release still run');
  expect(await states()).toEqual(['1 live', '2 beside']);
  expect(await migrateToLatest(pool, OLDER)).toEqual([]);

  await Promise.all(others.map((each) => each.stop()));
  await eventually(async () => (await showRelease(operatorOf(newer))).otherProcesses === 0);
  expect(await confirmRelease(operatorOf(newer))).toEqual({
    migrations: [LAST],
    projections: ['users'],
  });
  expect(await states()).toEqual(['1 retired', '2 live']);
  await expect(migrateToLatest(pool, OLDER)).rejects.toThrow(DatabaseNewerThanCode);
  expect(await showRelease(operatorOf(newer))).toMatchObject({
    confirmed: true,
    migrations: { unconfirmed: [] },
  });
  const [done] = await projectionHistory(pool, 10);
  expect(done).toMatchObject({ action: 'swap', projection: 'users', generation: 2 });
  expect(await confirmRelease(operatorOf(newer))).toEqual({ migrations: [], projections: [] });
  await own.stop();
});

test('the older release is confirmed instead: what the newer one has built is retired', async () => {
  await ensureOwnGenerations(pool, newer);
  expect(await showRelease(operatorOf(accountProjectors))).toMatchObject({
    projections: accountProjectors.map(({ name }) => ({
      projection: name,
      state: 'live',
      complete: true,
    })),
  });
  await confirmRelease(operatorOf(accountProjectors));
  expect(await states()).toEqual(['1 live', '2 retired']);
});
