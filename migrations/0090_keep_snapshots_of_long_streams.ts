import { sql, type Kysely } from 'kysely';

/** States of long streams, so that the first command after a start need not fold all of it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.stream_snapshots (
      stream text primary key,
      version text not null,
      revision bigint not null,
      event_id uuid not null,
      subjects uuid[] not null,
      sealed bytea not null,
      written_at timestamptz not null default now()
    )`.execute(db);
  await sql`comment on table ledger.stream_snapshots is 'Each may be dropped at any time: the events say the same'`.execute(db);
  await sql`comment on column ledger.stream_snapshots.subjects is 'It opens with the keys of all of them'`.execute(db);
  await sql`create index stream_snapshots_by_subject on ledger.stream_snapshots using gin (subjects)`.execute(db);
}
