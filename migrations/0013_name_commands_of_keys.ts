import { sql, type Kysely } from 'kysely';

/** A request with an idempotency key gets a command id of its own: once its row is gone, the key used again is another command. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.idempotency_keys add column command_id uuid`.execute(db);
  await sql`
    comment on column ledger.idempotency_keys.command_id is
    'Kept over every retry; null for rows of releases that derived it from the key'`.execute(db);
}
