import { sql, type Kysely } from 'kysely';

/** What is known of payment providers beside the log: when they were heard of and walked last, and which of their events wait for an account. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.payment_tenants (
      tenant text not null,
      mode text not null,
      last_event_at timestamptz,
      last_sync_at timestamptz,
      sync_due_at timestamptz,
      sync_since timestamptz,
      sync_cursor text,
      failures integer not null default 0,
      problem text,
      leased_until timestamptz,
      claimed_by integer,
      primary key (tenant, mode)
    )`.execute(db);
  await sql`comment on column ledger.payment_tenants.sync_due_at is 'When the next daily walk begins or goes on; null: there is no connection'`.execute(
    db,
  );
  await sql`comment on column ledger.payment_tenants.sync_since is 'Of the walk under way; null: none is'`.execute(db);
  await sql`comment on column ledger.payment_tenants.sync_cursor is 'The page of the walk under way; null: the first'`.execute(db);
  await sql`comment on column ledger.payment_tenants.failures is 'Of the walk, one after another'`.execute(db);
  await sql`
    create index payment_tenants_due on ledger.payment_tenants (sync_due_at)
    where sync_due_at is not null`.execute(db);
  await sql`
    create table ledger.payment_waiting_events (
      event_ref text primary key,
      stream text not null,
      tenant text not null,
      mode text not null,
      subject uuid not null,
      at timestamptz not null,
      is_linked boolean not null default false
    )`.execute(db);
  await sql`comment on table ledger.payment_waiting_events is 'Events of customers that no account had: their keys end 30 days later'`.execute(
    db,
  );
  await sql`comment on column ledger.payment_waiting_events.event_ref is 'Keyed hash of the id at the provider'`.execute(db);
  await sql`comment on column ledger.payment_waiting_events.subject is 'The key that encrypts the ids'`.execute(db);
  await sql`comment on column ledger.payment_waiting_events.is_linked is 'An account has got the customer'`.execute(db);
  await sql`
    create index payment_waiting_events_counted on ledger.payment_waiting_events (tenant, mode, at)
    where not is_linked`.execute(db);
  await sql`create index payment_waiting_events_at on ledger.payment_waiting_events (at)`.execute(db);
  await sql`create index payment_waiting_events_subject on ledger.payment_waiting_events (subject, at)`.execute(db);
  await sql`create index payment_waiting_events_stream on ledger.payment_waiting_events (stream)`.execute(db);
}
