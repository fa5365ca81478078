import { sql, type Kysely } from 'kysely';

/**
 * A parked reaction that was carried out by a retry is in no row and in no trail: when the log loses its effect, nobody would repeat it. So its
 * event is remembered for some days, and parked again after a loss.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.retried_reactions (
      event_id uuid not null,
      policy text collate "C" not null,
      stream text collate "C" not null,
      revision bigint,
      position text not null,
      retried_at timestamptz not null default now(),
      primary key (event_id, policy)
    )`.execute(db);
  await sql`create index retried_reactions_by_time on ledger.retried_reactions (retried_at)`.execute(db);
}
