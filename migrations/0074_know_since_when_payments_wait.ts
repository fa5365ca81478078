import { sql, type Kysely } from 'kysely';

/** Metrics show since when the provider was to be paid or walked: the times of the next try do not say it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table ledger.payment_work
    add column waiting_since timestamptz not null default now()`.execute(db);
  await sql`comment on column ledger.payment_work.waiting_since is 'When it was first due: without what its customer or tenant has to do first'`.execute(
    db,
  );
  await sql`alter table ledger.payment_tenants add column sync_late_since timestamptz`.execute(db);
  await sql`comment on column ledger.payment_tenants.sync_late_since is 'When the walk under way was due'`.execute(db);
}
