import { sql, type Kysely } from 'kysely';

/**
 * The seals of the chains (src/chain): what the log held, signed. They stand beside the log and not in it, so that a log in another
 * store is sealed just the same; what keeps them honest is their signature, and digests that were taken outside.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.chain_seals (
      log_id text collate "C" not null,
      chain text collate "C" not null,
      -- Of the chain, from its first one to the last one under this seal.
      events bigint not null check (events > 0),
      position text not null,
      digest bytea not null,
      places bytea not null,
      signature bytea not null,
      sealed_at timestamptz not null default now(),
      event_ids uuid[] not null,
      positions text[] not null,
      marks bytea not null,
      primary key (log_id, chain, events)
    )`.execute(db);
  await sql`comment on column ledger.chain_seals.chain is 'The mode, and the keyed hash that the tenant''s stream is called after'`.execute(
    db,
  );
  await sql`
    comment on column ledger.chain_seals.marks is
    'The first 8 bytes of the places digest behind each event that came since the seal before, to name the one that broke'`.execute(db);

  await sql`
    create table ledger.chain_checkpoints (
      log_id text collate "C" primary key,
      -- The last event of the whole log that the sealer has seen; null: none yet.
      position text,
      events bigint not null default 0,
      version bigint not null default 0,
      updated_at timestamptz not null default now()
    )`.execute(db);
}
