import { sql } from 'kysely';
import pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { openPool } from '../../src/postgres/database.js';
import {
  DatabaseNewerThanCode,
  MIGRATIONS,
  type SchemaMigration,
  migrateToLatest,
} from '../../src/postgres/migrator.js';
import { ensureLiveGenerations } from '../../src/projecting/generations/generations.js';
import { type TestDatabase, createTestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeEach(async () => (database = await createTestDatabase({ migrated: false })));
afterEach(() => database.drop());

const first: SchemaMigration = {
  up: async (db) => void (await sql`create table ledger.first (id bigint)`.execute(db)),
};
const second: SchemaMigration = {
  up: async (db) => void (await sql`create table ledger.second (id bigint)`.execute(db)),
};
const failing: SchemaMigration = { up: async (db) => void (await sql`select 1 / 0`.execute(db)) };

async function tables(): Promise<readonly string[]> {
  const client = new pg.Client(database.url);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = to_regnamespace('ledger') and relkind = 'r' order by 1`,
  );
  await client.end();
  return rows.map(({ name }) => name).filter((name) => !name.startsWith('migration'));
}

test('an empty database gets every migration of this release, a second run has nothing to do', async () => {
  const ran = await migrateToLatest(database.url);
  expect(ran.length).toBeGreaterThan(0);
  expect([...ran].sort()).toEqual(ran);
  expect(await migrateToLatest(database.url)).toEqual([]);
});

test('a later release runs only what is new', async () => {
  expect(await migrateToLatest(database.url, { '0001_first': first })).toEqual(['0001_first']);
  expect(
    await migrateToLatest(database.url, { '0001_first': first, '0002_second': second }),
  ).toEqual(['0002_second']);
  expect(await tables()).toEqual(['first', 'second']);
});

test('processes that start at once take turns: each migration runs once', async () => {
  const ran = await Promise.all(
    Array.from({ length: 4 }, () =>
      migrateToLatest(database.url, { '0001_first': first, '0002_second': second }),
    ),
  );
  expect(ran.flat().sort()).toEqual(['0001_first', '0002_second']);
});

test('a failing migration leaves nothing behind, the ones before it included', async () => {
  await expect(
    migrateToLatest(database.url, { '0001_first': first, '0002_failing': failing }),
  ).rejects.toThrow('division by zero');
  expect(await tables()).toEqual([]);
  expect(
    await migrateToLatest(database.url, { '0001_first': first, '0002_second': second }),
  ).toEqual(['0001_first', '0002_second']);
});

test("a database of a newer release is refused with the migration's name, and not changed", async () => {
  await migrateToLatest(database.url, { '0001_first': first, '0002_second': second });
  const refusal = migrateToLatest(database.url, { '0001_first': first });
  await expect(refusal).rejects.toThrow(DatabaseNewerThanCode);
  await expect(refusal).rejects.toThrow('0002_second');
  expect(await tables()).toEqual(['first', 'second']);
});

test('a role that may not create the extension for searches is told so in one line, and nothing changes', async () => {
  const owner = new pg.Client(database.url);
  await owner.connect();
  const name = new URL(database.url).pathname.slice(1);
  const earlier = Object.entries(MIGRATIONS).filter(([one]) => one < '0037_search_by_trigrams');
  await migrateToLatest(database.url, Object.fromEntries(earlier));
  await owner.query(`revoke create on database ${name} from current_user`);
  await expect(migrateToLatest(database.url)).rejects.toThrow(
    /^the database needs the extension pg_trgm, which this role cannot create \(permission denied to create extension "pg_trgm"\): as a role that may, run "create extension pg_trgm" in this database, then start again$/,
  );
  // In whatever schema.
  await owner.query(`grant create on database ${name} to current_user`);
  await owner.query('create schema extensions');
  await owner.query('create extension pg_trgm with schema extensions');
  await owner.end();
  const pool = openPool({ url: database.url, max: 2, applicationName: 'test' });
  expect((await migrateToLatest(pool))[0]).toBe('0037_search_by_trigrams');
  await ensureLiveGenerations(pool, accountProjectors);
  const { rows } = await pool.query<{ indexdef: string }>(
    "select indexdef from pg_indexes where indexname = 'users_by_text'",
  );
  expect(rows[0]?.indexdef).toMatch(/ USING gin \(search extensions\.gin_trgm_ops\)$/);
  await pool.end();
});
