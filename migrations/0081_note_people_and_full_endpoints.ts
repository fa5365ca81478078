import { sql, type Kysely } from 'kysely';

/** Whom the answer to an attempt may name, and until when an endpoint has no place for a further attempt. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.webhook_attempts add column people text[]`.execute(db);
  await sql`comment on column ledger.webhook_attempts.people is 'Whom the delivery named: their keys encrypt the answer; null: of an earlier release'`.execute(
    db,
  );
  await sql`alter table ledger.webhook_endpoints add column full_until timestamptz`.execute(db);
  await sql`comment on column ledger.webhook_endpoints.full_until is 'Until then a new delivery does not make it due: as many attempts as may be are under way; null: not so'`.execute(
    db,
  );
}
