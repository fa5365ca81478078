import { sql, type Kysely } from 'kysely';

/** Keys of people in a schema of their own (backed up apart from the log), requests with an idempotency key, and how far policies are. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create schema if not exists vault`.execute(db);
  await sql`
    create table vault.subject_keys (
      subject uuid primary key,
      -- Encrypted with a key derived from the master key. Null: destroyed, the subject is forgotten.
      wrapped bytea,
      created_at timestamptz not null default now(),
      destroyed_at timestamptz
    )`.execute(db);

  await sql`
    create table ledger.identity (
      one boolean primary key default true check (one),
      -- Tells a wrong master key before anything is written with it.
      master_key_check text not null
    )`.execute(db);

  await sql`
    create table ledger.idempotency_keys (
      tenant text not null,
      mode text not null,
      -- Keyed hashes; what the client chose is not stored.
      key text not null,
      fingerprint text not null,
      -- The process that runs the request, as the number of the advisory lock it holds while it lives.
      owner bigint not null,
      created_at timestamptz not null default now(),
      -- Null while running; then the answer, encrypted.
      answer bytea,
      primary key (tenant, mode, key)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create index idempotency_keys_by_age on ledger.idempotency_keys (created_at)`.execute(db);

  await sql`
    create table ledger.policy_checkpoints (
      name text primary key,
      position text,
      updated_at timestamptz not null default now()
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    create table ledger.parked_reactions (
      event_id uuid not null,
      policy text not null,
      stream text not null,
      position text not null,
      reason text not null,
      parked_at timestamptz not null default now(),
      primary key (event_id, policy)
    )`.execute(db);
}
