import { sql } from 'kysely';
import type { Pool } from 'pg';
import { newId } from '../foundation/world.js';
import { fetchRows } from '../postgres/statements.js';

/**
 * The vault has keys of files as well as those of people. Their ids are UUIDs of version 8, which
 * people never have, with a fixed first group, so that they are neighbours in the index.
 */
const FIRST_GROUP = '65787066';
const VERSION_AT = 14;

/** A UUID for a file's key, and for the attempt that writes the file. */
export function newFileKeyId(): string {
  const id = newId();
  return `${FIRST_GROUP}${id.slice(FIRST_GROUP.length, VERSION_AT)}8${id.slice(VERSION_AT + 1)}`;
}

/** Left by a restored vault. A file that is being written has its row before its key. */
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
