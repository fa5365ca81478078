import { sql, type Kysely } from 'kysely';

/**
 * Policies and webhooks keep their checkpoints in one table. The table of policies stays for a
 * release before this one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.handler_checkpoints (
      name text collate "C" primary key,
      -- Null: before the first event.
      position text,
      witness text,
      trail jsonb not null default '[]',
      -- Grows with every write: who led before writes no more.
      version bigint not null default 0,
      updated_at timestamptz not null default now()
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    insert into ledger.handler_checkpoints (name, position, witness, trail, version, updated_at)
    select name, position, witness, trail, losses, updated_at from ledger.policy_checkpoints
    union all
    select name, position, witness, trail, version, updated_at from ledger.webhook_checkpoints`.execute(db);
  await sql`drop table ledger.webhook_checkpoints`.execute(db);
}
