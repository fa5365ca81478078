import { sql } from 'kysely';
import type { Pool } from 'pg';
import { newId } from '../foundation/world.js';
import { fetchRows } from '../postgres/statements.js';

/**
 * Keys of files stand in the vault among those of people. Their ids tell them apart: a UUID of
 * version 8, which ids of people never have, with a first group of its own, so that they are
 * neighbours in the index.
 */
const FIRST_GROUP = '65787066';
const VERSION_AT = 14;

/** A new id of a file's key, and of the attempt that writes the file. A UUID. */
export function newFileKeyId(): string {
  const id = newId();
  return `${FIRST_GROUP}${id.slice(FIRST_GROUP.length, VERSION_AT)}8${id.slice(VERSION_AT + 1)}`;
}

/**
 * The ids of keys that no file has: the vault was restored from a backup. A key of a file that is
 * about to be written has its row: the row is older than the key.
 */
export async function unusedFileKeys(pool: Pool): Promise<readonly string[]> {
  const rows = await fetchRows(
    pool,
    sql<{ subject: string }>`
      select subject::text as subject from vault.subject_keys key
      where subject between ${`${FIRST_GROUP}-0000-8000-0000-000000000000`}::uuid
          and ${`${FIRST_GROUP}-ffff-8fff-ffff-ffffffffffff`}::uuid
        and substr(subject::text, ${VERSION_AT + 1}::integer, 1) = '8'
        and wrapped is not null
        and not exists (
          select from ledger.export_files f
          where f.attempt = key.subject and f.state in ('RUNNING', 'WRITTEN', 'STORED')
        )`,
  );
  return rows.map(({ subject }) => subject);
}
