import { sql } from 'kysely';
import pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import {
  appliedMigrations,
  confirmMigrations,
  DatabaseNewerThanCode,
  DatabaseOlderThanBaseline,
  MigrationBlocked,
  type SchemaMigration,
  migrateToLatest,
} from '../../src/postgres/migrator.js';
import { ensureLiveGenerations } from '../../src/projecting/generations/generations.js';
import { useDatabase } from '../support/database.js';

const { database, pool } = useDatabase(2, { each: true, migrated: false });

const first: SchemaMigration = {
  up: async (db) => void (await sql`create table ledger.first (id bigint)`.execute(db)),
};
const second: SchemaMigration = {
  up: async (db) => void (await sql`create table ledger.second (id bigint)`.execute(db)),
};
const third: SchemaMigration = {
  up: async (db) => void (await sql`create table ledger.third (id bigint)`.execute(db)),
};
const failing: SchemaMigration = { up: async (db) => void (await sql`select 1 / 0`.execute(db)) };

async function tables(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = to_regnamespace('ledger') and relkind = 'r' order by 1`,
  );
  return rows.map(({ name }) => name).filter((name) => !name.startsWith('migration'));
}

test('a later release runs only what is new', async () => {
  expect(await migrateToLatest(database.url, { '0001_first': first })).toEqual(['0001_first']);
  expect(
    await migrateToLatest(database.url, { '0001_first': first, '0002_second': second }),
  ).toEqual(['0002_second']);
  expect(await tables()).toEqual(['first', 'second']);
});

test('processes that start concurrently take turns: each migration runs once', async () => {
  const ran = await Promise.all(
    Array.from({ length: 4 }, () =>
      migrateToLatest(database.url, { '0001_first': first, '0002_second': second }),
    ),
  );
  expect(ran.flat().sort()).toEqual(['0001_first', '0002_second']);
});

test('a failing migration leaves nothing, and neither do the earlier ones', async () => {
  await expect(
    migrateToLatest(database.url, { '0001_first': first, '0002_failing': failing }),
  ).rejects.toThrow('division by zero');
  expect(await tables()).toEqual([]);
  expect(
    await migrateToLatest(database.url, { '0001_first': first, '0002_second': second }),
  ).toEqual(['0001_first', '0002_second']);
});

const older = { '0001_first': first };
const newer = { '0001_first': first, '0002_second': second };

async function confirm(...names: readonly string[]): Promise<readonly string[]> {
  const client = await pool.connect();
  try {
    return await confirmMigrations(client, names);
  } finally {
    client.release();
  }
}

const applied = () => appliedMigrations(pool);

test('a migration of a newer release is unconfirmed: the older release starts again until it is confirmed', async () => {
  await migrateToLatest(database.url, older);
  expect(await migrateToLatest(database.url, newer)).toEqual(['0002_second']);
  expect(await applied()).toEqual({ confirmed: ['0001_first'], unconfirmed: ['0002_second'] });
  expect(await migrateToLatest(database.url, older)).toEqual([]);
  expect(await migrateToLatest(database.url, newer)).toEqual([]);
  expect(await confirm('0001_first', '0002_second')).toEqual(['0002_second']);
  expect(await confirm('0001_first', '0002_second')).toEqual([]);
  const refusal = migrateToLatest(database.url, older);
  await expect(refusal).rejects.toThrow(DatabaseNewerThanCode);
  await expect(refusal).rejects.toThrow('0002_second');
  expect(await tables()).toEqual(['first', 'second']);
});

test('a database of a development build from before the first release is refused in one line, and stays as it is', async () => {
  await migrateToLatest(database.url, { '0001_create_event_log': first });
  const refusal = migrateToLatest(database.url);
  await expect(refusal).rejects.toThrow(DatabaseOlderThanBaseline);
  await expect(refusal).rejects.toThrow(/^the database was made by a development build .*\)$/);
  expect(await tables()).toEqual(['first']);
  expect(await applied()).toMatchObject({ confirmed: ['0001_create_event_log'] });
});

test('a confirmation leaves what a still newer release has added', async () => {
  await migrateToLatest(database.url, older);
  await migrateToLatest(database.url, { ...newer, '0003_third': third });
  expect(await confirm('0001_first', '0002_second')).toEqual(['0002_second']);
  expect(await migrateToLatest(database.url, newer)).toEqual([]);
  expect(await applied()).toMatchObject({ unconfirmed: ['0003_third'] });
});

describe('while another session holds a table', () => {
  const changesFirst: SchemaMigration = {
    up: async (db) => void (await sql`alter table ledger.first add column second text`.execute(db)),
  };
  const changing = { '0001_first': first, '0002_change_first': changesFirst };
  let holder: pg.Client;
  beforeEach(async () => {
    await migrateToLatest(database.url, older);
    holder = new pg.Client({
      connectionString: database.url,
      application_name: 'a long report',
    });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select * from ledger.first');
  });
  afterEach(() => holder.end());

  test('a migration logs in one line what it waits for, lets others through, and runs then', async () => {
    const lines: string[] = [];
    let migrating: Promise<readonly string[]> | undefined;
    const waited = new Promise<void>((resolve) => {
      const onWait = (line: string): void => {
        lines.push(line);
        resolve();
      };
      migrating = migrateToLatest(database.url, changing, {
        onWait,
        lockTimeoutMs: 1_000,
        retryMs: 50,
      });
    });
    await waited;
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^a migration waits for a lock that another session holds/);
    // Without a limit a read would queue behind the migration for as long as that waits.
    await pool.query('select * from ledger.first');
    await holder.query('commit');
    expect(await migrating).toEqual(['0002_change_first']);
  });

  test('a migration that waits for too long is given up with that line, and nothing is changed', async () => {
    const refusal = migrateToLatest(database.url, changing, {
      lockTimeoutMs: 500,
      retryMs: 10,
      patienceMs: 0,
    });
    await expect(refusal).rejects.toThrow(MigrationBlocked);
    await expect(refusal).rejects.toThrow(/^a migration waits .*: end that session/);
    expect(await applied()).toEqual({ confirmed: ['0001_first'], unconfirmed: [] });
  });
});

test('a role that may not create the extension for searches gets the remedy in one line, and nothing changes', async () => {
  const owner = new pg.Client(database.url);
  await owner.connect();
  const name = new URL(database.url).pathname.slice(1);
  await owner.query('create schema ledger');
  await owner.query(`revoke create on database ${name} from current_user`);
  await expect(migrateToLatest(database.url)).rejects.toThrow(
    /^the database needs the extension pg_trgm, which this role cannot create \(permission denied to create extension "pg_trgm"\): as a role that may, run "create extension pg_trgm" in this database, then start again$/,
  );
  expect(await tables()).toEqual([]);
  // In whatever schema.
  await owner.query(`grant create on database ${name} to current_user`);
  await owner.query('create schema extensions');
  await owner.query('create extension pg_trgm with schema extensions');
  await owner.end();
  expect(await migrateToLatest(pool)).toEqual(['0001_baseline']);
  await ensureLiveGenerations(pool, accountProjectors);
  const { rows } = await pool.query<{ indexdef: string }>(
    "select indexdef from pg_indexes where indexname = 'users_by_text'",
  );
  expect(rows[0]?.indexdef).toMatch(/ USING gin \(searched extensions\.gin_trgm_ops\)$/);
});
