import { sql, type Kysely } from 'kysely';

/**
 * One signed row that says which events the whole log held when it was sealed last, in which places. Seals of chains cover what stands
 * before them only, so whoever removed the newest events of a chain with their seals left no trace. There is one row for each log, which is
 * overwritten: an older one, kept beside it, would vouch for a log that was cut off there.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.log_seals (
      log_id text collate "C" primary key,
      -- Null: nothing is sealed yet.
      position text,
      event_id uuid,
      events bigint not null,
      digest text not null,
      signature text not null,
      sealed_at timestamptz not null default now()
    )`.execute(db);
}
