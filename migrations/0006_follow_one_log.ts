import { sql, type Kysely } from 'kysely';

/**
 * Which log the read models, policies and kept answers of this database belong to, and which complete copies of that log there are.
 * Positions mean something in one log only, so a database follows one, and changes it only to a copy that is on record here.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.followed_log (
      only_row boolean primary key default true check (only_row),
      log_id uuid not null,
      -- False from the change to a copy until the read models have been built from it.
      rebuilt boolean not null default true
    )`.execute(db);
  // A database that was in use before it kept this in mind has its events in itself.
  await sql`
    insert into ledger.followed_log (log_id)
    select log_id from ledger.log_head where exists (select from ledger.events)`.execute(db);

  await sql`
    create table ledger.log_copies (
      source_id uuid not null,
      target_id uuid not null,
      source_head text,
      target_head text,
      events bigint not null,
      policies_position text,
      copied_at timestamptz not null default now(),
      primary key (source_id, target_id)
    )`.execute(db);
  await sql`comment on table ledger.log_copies is 'Complete copies; a row goes as soon as something may be appended to its source'`.execute(
    db,
  );
  await sql`
    comment on column ledger.log_copies.policies_position is
    'Position in the target of the event that policies had come to in the source; null: they had not begun'`.execute(db);
}
