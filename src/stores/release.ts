import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { MIGRATION_NAMES } from '../postgres/migrator.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { fetchRow, tables } from '../postgres/statements.js';
import { namedTablesOf, type ReadModel } from '../projecting/generations/generations.js';

/**
 * A number of a release's migrations and tables of read models. Releases with the same number can
 * replace each other at any time.
 */
export function releaseOf(readModels: readonly ReadModel[]): number {
  const made = JSON.stringify([MIGRATION_NAMES, namedTablesOf(readModels)]);
  // Half of the key of an advisory lock; zero is for processes that name no release.
  return 1 + (createHash('sha256').update(made).digest().readUInt32BE() % (2 ** 31 - 2));
}

export async function countOtherReleases(
  db: Pool | PoolClient,
  readModels: readonly ReadModel[],
): Promise<number> {
  const count = ProcessPresence.countOfOtherReleases(releaseOf(readModels));
  return (await fetchRow(db, tables.selectNoFrom(count.as('count'))))?.count ?? 0;
}
