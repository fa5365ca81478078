import { sql, type Kysely } from 'kysely';

/** What was told to an endpoint before its present subscription is not sent again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.webhook_endpoints add column subscribed_at timestamptz`.execute(db);
  await sql`comment on column ledger.webhook_endpoints.subscribed_at is 'Time of the event that began the present subscription; null: before it was kept'`.execute(
    db,
  );
}
