import { sql, type Kysely } from 'kysely';

/**
 * Announcements that wait for a release that can read their event are parked like reactions. A
 * reaction parked by a development build without a revision is retried from the first event.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    insert into ledger.parked_reactions (event_id, policy, stream, revision, position, reason, parked_at)
    select event_id, 'webhooks', stream, revision, position, reason, noted_at from ledger.webhook_unread_events
    order by noted_at`.execute(db);
  await sql`update ledger.parked_reactions set revision = 0 where revision is null`.execute(db);
  await sql`update ledger.retried_reactions set revision = 0 where revision is null`.execute(db);
  await sql`drop table ledger.webhook_unread_events`.execute(db);
}
