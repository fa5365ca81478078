import { sql, type Kysely } from 'kysely';

/**
 * A generation is built and waits before it becomes live, and the one before is found again for going back. Who built, switched or
 * repaired what is kept for operators.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table ledger.projection_generations
      drop constraint projection_generations_state_check,
      add constraint projection_generations_state_check check (state in ('live', 'building', 'ready', 'retired')),
      -- When it was last live; null: before this column, or never.
      add column retired_at timestamptz`.execute(db);

  await sql`
    create table ledger.projection_history (
      id bigint generated always as identity primary key,
      action text not null check (action in ('rebuild', 'repair', 'swap', 'rollback', 'retry-parked')),
      projection text not null,
      -- What it was about: the generation that was built, repaired or made live; null: it did not come so far.
      generation integer,
      -- The generation that was live before, of a switch.
      previous integer,
      -- Of a repair. The account by its keyed hash.
      tenant text,
      mode text,
      account_ref text,
      actor text not null,
      started_at timestamptz not null default now(),
      finished_at timestamptz,
      outcome text not null default 'running' check (outcome in ('running', 'done', 'failed', 'cancelled', 'crashed')),
      details jsonb not null default '{}'
    )`.execute(db);
  await sql`comment on table ledger.projection_history is 'What operators did to read models; positions, counts and names of ours only'`.execute(
    db,
  );
}
