import { sql, type Kysely } from 'kysely';

/** How many mails wait, and since when, is read at every scrape: without the mails of months ahead. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index mail_deliveries_pending on ledger.mail_deliveries (next_attempt_at)
    where state = 'PENDING'`.execute(db);
  await sql`
    create index mail_deliveries_retried on ledger.mail_deliveries (retried_until)
    where retried_until is not null and ended_at is null`.execute(db);
}
