import { sql, type Kysely } from 'kysely';

/**
 * Releases whose tables differ each follow and read a generation of their own. `live` is the one of
 * the confirmed release, `beside` that of any other. Releases before this migration know `live`
 * only, and leave `beside` alone.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table ledger.projection_generations
      drop constraint projection_generations_state_check,
      add constraint projection_generations_state_check
        check (state in ('live', 'beside', 'building', 'ready', 'retired')),
      -- False: it has not caught up for the first time, and is not shown.
      add column complete boolean not null default true,
      -- Processes that follow the same generation share this lock; null: the name of the projection,
      -- as releases before this migration take it.
      add column lock_name text`.execute(db);
  await sql`
    create unique index projection_generations_one_of_tables
      on ledger.projection_generations (projection, definition)
      where state in ('live', 'beside')`.execute(db);
}
