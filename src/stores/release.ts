import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { MIGRATION_NAMES } from '../postgres/migrator.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { fetchRow, tables } from '../postgres/statements.js';
import { namedTablesOf, type ReadModel } from '../projecting/generations/generations.js';

/**
 * A number for what a release makes of a database: its migrations and the tables of its read
 * models. Releases with the same number can take each other's place at any time.
 */
export function releaseOf(readModels: readonly ReadModel[]): number {
  const made = JSON.stringify([MIGRATION_NAMES, namedTablesOf(readModels)]);
  // Half of the key of an advisory lock; zero is kept for processes that name no release.
  return 1 + (createHash('sha256').update(made).digest().readUInt32BE() % (2 ** 31 - 2));
}

/** How many running processes of the service belong to releases with other tables. */
export async function countOtherReleases(
  db: Pool | PoolClient,
  readModels: readonly ReadModel[],
): Promise<number> {
  const count = ProcessPresence.countOfOtherReleases(releaseOf(readModels));
  return (await fetchRow(db, tables.selectNoFrom(count.as('count'))))?.count ?? 0;
}
