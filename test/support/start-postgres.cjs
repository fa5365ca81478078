const { mkdtemp, readFile } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { makeMemoryFolder } = require('./memory-folder.cjs');

/**
 * One Postgres for a whole run, without fsync, with connections for the services of several test
 * files at a time, and in it a template database with our schema:
 * cloning it takes some 20 ms in memory, so every test file (or test) can have a database of its own.
 */
module.exports = async () => {
  const dist = (path) => import(pathToFileURL(join(__dirname, '../../dist', path)).href);
  const { startEmbeddedPostgres } = await dist('src/embedded-postgres/embedded-postgres.js');
  const { migrateToLatest } = await dist('src/postgres/migrator.js');
  const { default: pg } = await import('pg');

  // The workers' temporary folder, too: they get it by their environment.
  const memory = makeMemoryFolder();
  if (memory !== undefined) process.env.TMPDIR = memory;
  const dataDir = await mkdtemp(join(tmpdir(), 'ledger-test-'));
  const server = await startEmbeddedPostgres({ dataDir, fsync: false, maxConnections: 500 });
  // The teardown runs in this process; the workers are others and get the address by their
  // environment.
  globalThis.ledgerTestPostgres = { server, folder: memory ?? dataDir };
  const url = new URL(server.url);
  url.pathname = '/postgres';
  process.env.TEST_POSTGRES_URL = url.href;

  // Tests run as the service does, under its ordinary role; here it may make databases, too.
  const password = (await readFile(join(dataDir, 'postgres.password'), 'utf8')).trim();
  const asSuperuser = async (database, statement) => {
    const options = { host: server.socketFolder, user: 'ledger', password, database };
    const superuser = new pg.Client(options);
    await superuser.connect();
    await superuser.query(statement);
    await superuser.end();
  };
  await asSuperuser('postgres', `alter role ${url.username} createdb`);

  const admin = new pg.Client(url.href);
  await admin.connect();
  await admin.query('create database ledger_template');
  await asSuperuser(
    'ledger_template',
    `grant execute on function pg_switch_wal() to ${url.username}`,
  );
  url.pathname = '/ledger_template';
  await migrateToLatest(url.href);
  // Postgres clones only a database without connections: from here on it refuses them.
  await admin.query('alter database ledger_template with is_template true allow_connections false');
  await admin.end();
};
