import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openPool } from '../../src/postgres/database.js';
import { openForEach, openOnce } from './opened.js';
import { pollPause } from './poll-pause.js';

export interface TestDatabase {
  readonly url: string;
  /** Also closes connections that are still open. */
  drop(): Promise<void>;
}

/**
 * A database of the test on the run's server: cloned from the template, or `{ migrated: false }`.
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
  { each = false, ...options }: { readonly each?: boolean; readonly migrated?: boolean } = {},
): { readonly database: TestDatabase; readonly pool: pg.Pool } {
  const open = each ? openForEach : openOnce;
  const database = open(() => createTestDatabase(options), 'drop');
  const pool = open(() => openPool({ url: database.url, max, applicationName: 'test' }), 'end');
  return { database, pool };
}

export const useSql = (url: () => string): pg.Client =>
  openOnce(async () => {
    const client = new pg.Client(url());
    await client.connect();
    return client;
  }, 'end');

const NOT_ALLOWED = '42501';
const TRIES_MAX = 200;

/** A vacuum by the server itself cannot be ended from here, and ends with the server. */
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
