import { sql, type Kysely } from 'kysely';

/**
 * What is to be sent to the endpoints of tenants. A row names the event that it is about and holds nothing of it: the payload is made from the
 * log when it is sent. The checkpoint moves in one transaction with the rows. Endpoints stand in their tenants' streams; here is what the
 * follower has seen of them, and when there is something to do for one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.webhook_checkpoints (
      name text collate "C" primary key,
      -- Null: before the first event.
      position text,
      witness text,
      trail jsonb not null default '[]',
      -- Grows with every write: who led before writes no more.
      version bigint not null default 0,
      updated_at timestamptz not null default now()
    )`.execute(db);
  await sql`
    create table ledger.webhook_endpoints (
      tenant text collate "C" not null,
      mode text collate "C" not null,
      endpoint_id text collate "C" not null,
      -- UNKNOWN: the log lost what was seen of it.
      state text not null check (state in ('ACTIVE', 'DISABLED', 'UNSUBSCRIBED', 'UNKNOWN')),
      changed_position text,
      changed_at timestamptz not null default now(),
      failures integer not null default 0,
      is_slow boolean not null default false,
      -- No attempt before.
      pause_until timestamptz,
      -- When there may be something to do; null: nothing.
      due_at timestamptz,
      last_success timestamptz,
      primary key (tenant, mode, endpoint_id)
    )`.execute(db);
  await sql`
    create index webhook_endpoints_due on ledger.webhook_endpoints (due_at) where state = 'ACTIVE' and due_at is not null`.execute(db);
  await sql`
    create table ledger.webhook_deliveries (
      id uuid primary key,
      tenant text collate "C" not null,
      mode text collate "C" not null,
      endpoint_id text collate "C" not null,
      -- The same for all endpoints and attempts.
      webhook_id uuid not null,
      type text collate "C" not null,
      subject jsonb not null,
      -- Null: a test, which is about no event.
      stream text collate "C",
      revision bigint,
      event_id uuid,
      created timestamptz not null,
      state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'DEAD')),
      attempts integer not null default 0,
      next_attempt_at timestamptz,
      leased_until timestamptz,
      ended_at timestamptz
    )`.execute(db);
  await sql`
    create index webhook_deliveries_waiting on ledger.webhook_deliveries (tenant, mode, endpoint_id, next_attempt_at)
      where state = 'PENDING'`.execute(db);
  await sql`
    create index webhook_deliveries_leased on ledger.webhook_deliveries (tenant, mode, endpoint_id, leased_until)
      where leased_until is not null`.execute(db);
  await sql`create index webhook_deliveries_newest on ledger.webhook_deliveries (tenant, mode, created desc, id)`.execute(db);
  await sql`create index webhook_deliveries_oldest on ledger.webhook_deliveries (created) where state = 'PENDING'`.execute(db);
  await sql`create index webhook_deliveries_ended on ledger.webhook_deliveries (ended_at) where ended_at is not null`.execute(db);
  await sql`
    create table ledger.webhook_attempts (
      delivery_id uuid not null references ledger.webhook_deliveries (id) on delete cascade,
      number integer not null,
      at timestamptz not null,
      -- Of the answer; null: there was none, and reason says why.
      status integer,
      reason text,
      ms integer not null,
      -- The beginning of the answer, encrypted.
      beginning bytea,
      primary key (delivery_id, number)
    )`.execute(db);
  await sql`
    create table ledger.webhook_unread_events (
      event_id uuid primary key,
      stream text collate "C" not null,
      revision bigint not null,
      position text not null,
      reason text not null,
      noted_at timestamptz not null default now()
    )`.execute(db);
  await sql`comment on table ledger.webhook_unread_events is 'Events that the leading release could not read: announced once a release can'`.execute(
    db,
  );
}
