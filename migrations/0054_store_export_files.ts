import { sql, type Kysely } from 'kysely';

/**
 * The files of exports, and who writes them. What an export is stands in its stream; a row is the work that is left, and the file's place. A
 * file stands in chunks, encrypted with a key of its own in the vault, named as the attempt that wrote it: without the row no chunk can stand.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.export_files (
      export_id uuid primary key,
      tenant text collate "C" not null,
      mode text collate "C" not null,
      -- WRITTEN: the file is whole, its completion is not known to be recorded. GONE: key and chunks are to be removed.
      state text not null default 'WAITING' check (state in ('WAITING', 'RUNNING', 'WRITTEN', 'STORED', 'GONE')),
      -- Of the process that writes, see ProcessPresence.
      owner bigint,
      -- Names the key and the chunks; null: there are none.
      attempt uuid unique,
      failures integer not null default 0,
      retry_at timestamptz not null default now(),
      rows_done bigint,
      rows_total bigint,
      -- Encrypted and compressed, as stored.
      stored_bytes bigint not null default 0,
      -- What the completion says: position, rows, bytes, sha256.
      file jsonb,
      expires_at timestamptz,
      -- Who was forgotten while it was written.
      erased uuid[] not null default '{}',
      created_at timestamptz not null default now(),
      check ((state in ('RUNNING', 'WRITTEN')) = (owner is not null)),
      check (state not in ('RUNNING', 'WRITTEN', 'STORED') or attempt is not null)
    )`.execute(db);
  await sql`
    create unique index export_files_running on ledger.export_files (tenant, mode) where state in ('RUNNING', 'WRITTEN')`.execute(db);
  await sql`
    create index export_files_waiting on ledger.export_files (created_at) where state in ('WAITING', 'RUNNING', 'WRITTEN', 'GONE')`.execute(
    db,
  );
  await sql`create index export_files_of_tenant on ledger.export_files (tenant, mode, state)`.execute(db);
  await sql`create index export_files_expiring on ledger.export_files (expires_at) where state = 'STORED'`.execute(db);
  await sql`
    create table ledger.export_chunks (
      attempt uuid not null references ledger.export_files (attempt) on delete cascade,
      -- file: its bytes. people: sorted digests of the people in it, 8 bytes each.
      kind text not null check (kind in ('file', 'people')),
      number integer not null,
      -- Of people: the first digest of the chunk.
      first bytea,
      bytes bytea not null,
      primary key (attempt, kind, number)
    )`.execute(db);
  // Encrypted bytes do not compress, and people are read in pieces.
  await sql`alter table ledger.export_chunks alter column bytes set storage external`.execute(db);
  await sql`create index export_chunks_people on ledger.export_chunks (attempt, first) where kind = 'people'`.execute(db);
}
