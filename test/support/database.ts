import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openPool } from '../../src/postgres/database.js';
import { pollPause } from './poll-pause.js';

export interface TestDatabase {
  readonly url: string;
  /** Also closes connections that are still open. */
  drop(): Promise<void>;
}

/**
 * A database of one's own on the server of this test run: with our schema, cloned from the
 * template, or empty with `{ migrated: false }`. Some 20 ms; what is not dropped goes with the
 * server at the end of the run.
 */
export async function createTestDatabase({
  migrated = true,
}: { readonly migrated?: boolean } = {}): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  // Copied as files, not block by block through the WAL: that took three times as long (840 and 250
  // ms under load).
  await onServer(
    `create database ${name} template ${migrated ? 'ledger_template' : 'template0'} strategy file_copy`,
  );
  const url = serverUrl();
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => dropped(name) };
}

/** A database for the tests of a file, or one for each, and a pool of so many connections. */
export function useDatabase(
  max: number,
  use: (pool: pg.Pool, url: string) => unknown,
  { each = false, ...options }: { readonly each?: boolean; readonly migrated?: boolean } = {},
): void {
  let database: TestDatabase;
  let pool: pg.Pool;
  (each ? beforeEach : beforeAll)(async () => {
    database = await createTestDatabase(options);
    pool = openPool({ url: database.url, max, applicationName: 'test' });
    await use(pool, database.url);
  });
  (each ? afterEach : afterAll)(async () => {
    await pool.end();
    await database.drop();
  });
}

const NOT_ALLOWED = '42501';
const TRIES_MAX = 200;

/**
 * A vacuum by the server itself is not ours to end: it ends by itself, or with the server, and the
 * database with it.
 */
async function dropped(name: string): Promise<void> {
  for (let looks = 1; ; looks++)
    try {
      return await onServer(`drop database if exists ${name} with (force)`);
    } catch (error) {
      const isServers = error instanceof pg.DatabaseError && error.code === NOT_ALLOWED;
      if (!isServers) throw error;
      if (looks > TRIES_MAX) return;
      await pollPause(looks);
    }
}

/** One connection to the maintenance database for all test files of a worker. */
const worker = globalThis as { maintenance?: pg.Pool };

/** Runs one statement in the maintenance database. */
async function onServer(statement: string): Promise<void> {
  worker.maintenance ??= new pg.Pool({
    connectionString: serverUrl().href,
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  }).on('error', () => undefined);
  await worker.maintenance.query(statement);
}

function serverUrl(): URL {
  const url = process.env.TEST_POSTGRES_URL;
  if (!url)
    throw new Error(
      'TEST_POSTGRES_URL is not set: test/support/global-setup.cjs starts the server',
    );
  return new URL(url);
}
