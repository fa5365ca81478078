import { sql, type Kysely } from 'kysely';

/**
 * What a delivery's retries are counted from, who has claimed it, and since when its endpoint fails or was held back: so that times come from the
 * database alone, a resend begins anew, what was held back has its full time, and the claims of a dead process are free.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table ledger.webhook_deliveries
      add column retried_from timestamptz,
      add column attempts_before integer not null default 0,
      add column claimed_by integer`.execute(db);
  await sql`comment on column ledger.webhook_deliveries.retried_from is 'The first attempt of the present series, or the resend that began it; null: none yet'`.execute(
    db,
  );
  await sql`comment on column ledger.webhook_deliveries.attempts_before is 'Attempts before the last resend'`.execute(db);
  await sql`comment on column ledger.webhook_deliveries.claimed_by is 'The process that has the claim, as its presence names it; null: of an earlier release'`.execute(
    db,
  );
  await sql`
    alter table ledger.webhook_endpoints
      add column failing_since timestamptz,
      add column held_until timestamptz`.execute(db);
  await sql`comment on column ledger.webhook_endpoints.failing_since is 'First failure since the last success; null: none'`.execute(db);
  await sql`comment on column ledger.webhook_endpoints.held_until is 'Until then nothing was sent for no fault of the endpoint (a suspended tenant): that time counts for no delivery'`.execute(
    db,
  );
}
