import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { usersProjector } from '../../projections/users/projector.js';
import { FollowedLog } from '../../src/stores/followed-log.js';
import { ScrubbedGenerations } from '../../src/projecting/generations/scrubbed-generations.js';
import { ensureOwnGenerations } from '../../src/projecting/generations/generations.js';
import {
  LiveGenerations,
  ReadModelsIncomplete,
} from '../../src/projecting/generations/live-generations.js';
import type { FollowedProjections } from '../support/followed.js';
import type { Projector } from '../../src/projecting/projector.js';
import { accountOpened, anAccount, userIdentified } from '../support/account-events.js';
import { withOtherTables } from '../support/next-release.js';
import { eventually } from '../support/embedded.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { openForEach } from '../support/opened.js';

const ALL = accountProjectors.map(({ name }) => name);
const WITHIN_MS = 20_000;
const acme = anAccount('acme');

const projected = openForEach(() => ProjectedLedger.open(), 'close');
let pool: pg.Pool;
beforeEach(async () => {
  ({ pool } = projected);
  // The older release was here first.
  await ensureOwnGenerations(pool, accountProjectors);
});

const usersOf = async (generation: number): Promise<number> =>
  (await pool.query(`select from rm_users_${generation}.users`)).rows.length;

async function statesOf(projection: string): Promise<string> {
  const { rows } = await pool.query<{ states: string }>(
    `select string_agg(generation || ' ' || state, ', ' order by generation) as states
     from ledger.projection_generations where projection = $1`,
    [projection],
  );
  return rows[0]?.states ?? '';
}

function startRelease(projectors: readonly Projector[]): FollowedProjections {
  const own = projected.openPool();
  return projected.startRunner({
    projectors,
    pool: own,
    generations: new LiveGenerations(own, projectors),
  });
}

async function reach(position: string, ...runners: readonly FollowedProjections[]): Promise<void> {
  const reached = await Promise.all(
    runners.map((runner) => runner.waitFor(position, ALL, WITHIN_MS)),
  );
  expect(reached).toEqual(runners.map(() => true));
}

const newer = withOtherTables();

test('a release with other tables shows nothing before it has caught up, while the older one is read, and then only what is its own', async () => {
  expect(await ensureOwnGenerations(pool, newer)).toEqual({ added: ALL, renewed: [] });
  expect(await ensureOwnGenerations(pool, newer)).toEqual({ added: [], renewed: [] });
  const shown = new LiveGenerations(pool, newer);
  await expect(shown.liveGeneration('users')).rejects.toThrow(ReadModelsIncomplete);
  expect(shown.areShown).toBe(false);
  expect((await projected.generations.liveGeneration('users')).schema).toBe('rm_users_1');

  const followed = new FollowedLog(pool, newer);
  await followed.accept(randomUUID());
  // Of the live ones: a release next to them knows nothing of that.
  await pool.query('update ledger.followed_log set rebuilt = false');
  await followed.markRebuilt('users 1');
  await shown.refresh();
  expect(shown.areShown).toBe(false);
  await followed.markRebuilt(await followed.liveGenerations());
  await shown.refresh();
  expect(await shown.liveGeneration('users')).toEqual({ generation: 2, schema: 'rm_users_2' });
  expect(shown.areShown).toBe(true);
  const { rows } = await pool.query('select rebuilt from ledger.followed_log');
  expect(rows).toEqual([{ rebuilt: false }]);
});

test('only what has other tables is built anew: the rest has one leader in both releases', async () => {
  const opened = await projected.ledger.happened(acme, accountOpened(acme));
  const first = startRelease(accountProjectors);
  await reach(opened, first);
  const second = startRelease(withOtherTables('users'));
  const after = await projected.ledger.happened(acme, userIdentified(acme, 'u1'));
  await reach(after, first, second);
  expect([await usersOf(1), await usersOf(2)]).toEqual([1, 1]);
  expect(ALL.filter((name) => second.leads(name))).toEqual(['users']);
  expect(ALL.filter((name) => first.leads(name))).toEqual(ALL);
  expect(await statesOf('users')).toBe('1 live, 2 beside');
  expect(await statesOf('rewards')).toBe('1 live');
  await first.stop();
  await eventually(() => ALL.every((name) => second.leads(name)));
});

const scrubbed = (projectors: readonly Projector[], others: number) =>
  new ScrubbedGenerations({
    pool,
    log: projected.log,
    readModels: projectors,
    otherProcesses: () => Promise.resolve(others),
  });
const schemas = async (): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname like 'rm\\_users\\_%' order by 1`,
  );
  return rows.map(({ name }) => name);
};
const dropUnfollowed = async (projectors: readonly Projector[], others: number) => {
  const client = await pool.connect();
  await scrubbed(projectors, others).dropUnfollowed(client);
  client.release();
};
const newerUsers = withOtherTables('users');

test('a scrub keeps the tables of a release that runs, and waits until they have the newest erasures', async () => {
  const opened = await projected.ledger.happened(acme, accountOpened(acme));
  const first = startRelease(accountProjectors);
  await reach(opened, first);
  await ensureOwnGenerations(pool, newerUsers);
  await dropUnfollowed(accountProjectors, 1);
  expect(await schemas()).toEqual(['rm_users_1', 'rm_users_2']);
  expect(await (await scrubbed(accountProjectors, 0).reachHead())()).toBe(true);
  expect(await (await scrubbed(accountProjectors, 1).reachHead())()).toBe(false);
  await reach(opened, startRelease(newerUsers));
  expect(await (await scrubbed(accountProjectors, 1).reachHead())()).toBe(true);
});

test('a scrub drops the tables of a release that does not run: it builds them anew at its start', async () => {
  const opened = await projected.ledger.happened(acme, accountOpened(acme));
  const first = startRelease(accountProjectors);
  const second = startRelease(newerUsers);
  await reach(opened, first, second);
  await first.stop();
  await dropUnfollowed(newerUsers, 0);
  expect(await schemas()).toEqual(['rm_users_2']);
  expect(await ensureOwnGenerations(pool, accountProjectors)).toEqual({
    added: [],
    renewed: ['users'],
  });
  expect(await statesOf('users')).toBe('1 retired, 2 beside, 3 live');
  await reach(opened, startRelease(accountProjectors));
  await dropUnfollowed([usersProjector], 0);
  expect(await schemas()).toEqual(['rm_users_3']);
});
