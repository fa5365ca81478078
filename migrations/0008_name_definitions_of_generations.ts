import { sql, type Kysely } from 'kysely';

/** Whether a generation's tables are those of the release that runs can be told from this. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.projection_generations add column definition text`.execute(db);
  await sql`
    comment on column ledger.projection_generations.definition is
    'Digest of the declared tables; null for generations that are older than this column'`.execute(db);
}
