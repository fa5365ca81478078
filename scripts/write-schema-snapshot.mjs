#!/usr/bin/env node
// Writes docs/generated/schema.txt from an empty database that ran all migrations. To be run after
// adding a migration.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOrExit } from './build-if-stale.mjs';

buildOrExit();
const { startEmbeddedPostgres } =
  await import('../dist/src/embedded-postgres/embedded-postgres.js');
const { openPool } = await import('../dist/src/postgres/database.js');
const { migrateToLatest } = await import('../dist/src/postgres/migrator.js');
const { describeSchema } = await import('../dist/src/postgres/schema-description.js');

const folder = fileURLToPath(new URL('../docs/generated/', import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), 'ledger-schema-'));
const server = await startEmbeddedPostgres({ dataDir, fsync: false });
try {
  const pool = openPool({ url: server.url, max: 2, applicationName: 'schema-snapshot' });
  await migrateToLatest(pool);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'schema.txt'), await describeSchema(pool));
  await pool.end();
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
