import { sql, type Kysely } from 'kysely';

/** Operations that take long are known to every process, and outlive the one that runs them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.operation_runs (
      id uuid primary key,
      operation text not null,
      operator text not null,
      tenant text,
      mode text,
      owner integer not null,
      state text not null check (state in ('running', 'done', 'failed', 'abandoned')),
      cancel_requested boolean not null default false,
      phase text,
      done bigint not null default 0,
      total bigint,
      started_at timestamptz not null default now(),
      beat_at timestamptz not null default now(),
      finished_at timestamptz,
      parameters bytea,
      result bytea,
      error bytea,
      names_people boolean not null default true,
      forgotten boolean not null default false
    )`.execute(db);
  await sql`comment on column ledger.operation_runs.owner is 'The process that runs it, by its lock of presence'`.execute(db);
  await sql`comment on column ledger.operation_runs.state is 'abandoned: its process has ended before it'`.execute(db);
  await sql`comment on column ledger.operation_runs.beat_at is 'When its process reported last'`.execute(db);
  await sql`comment on column ledger.operation_runs.parameters is 'Sealed, like result and error; null: none, or gone'`.execute(db);
  await sql`comment on column ledger.operation_runs.names_people is 'Whether result or error may name people'`.execute(db);
  await sql`comment on column ledger.operation_runs.forgotten is 'People of its tenant were forgotten since it began: what may name them is gone'`.execute(
    db,
  );
  await sql`create index operation_runs_listed on ledger.operation_runs (operator, started_at desc)`.execute(db);
  await sql`create index operation_runs_running on ledger.operation_runs (owner) where state = 'running'`.execute(db);
}
