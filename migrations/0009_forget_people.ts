import { sql, type Kysely } from 'kysely';

/**
 * The vault remembers how far the log's erasures are known to be carried out on its keys: a copy that is restored brings its own mark
 * along, and what came later is carried out again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table vault.erasures_checked (
      one boolean primary key default true check (one),
      -- Of which log, and up to where its erasures were carried out; null: from its beginning.
      log_id text not null,
      position text
    )`.execute(db);
  await sql`
    create table vault.scrubbed (
      one boolean primary key default true check (one),
      -- Everything that was erased before has left the files.
      until timestamptz not null
    )`.execute(db);
  await sql`create index subject_keys_destroyed on vault.subject_keys (destroyed_at) where destroyed_at is not null`.execute(db);
}
