import { sql, type Kysely } from 'kysely';

/** Who took the file of an export out: a row at the start of a download, one an hour for each caller. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.export_downloads (
      tenant text not null,
      mode text not null,
      export_id uuid not null,
      actor_kind text not null,
      actor_id text not null,
      hour timestamptz not null default date_trunc('hour', now()),
      at timestamptz not null default now(),
      request_id text not null,
      primary key (tenant, mode, export_id, actor_kind, actor_id, hour)
    )`.execute(db);
}
