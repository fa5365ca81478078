import { sql, type Kysely } from 'kysely';

/**
 * A log can lose its end (a fail-over, a restore) and be filled again, so a position alone does not tell whether what was made of the log
 * rests on the log that is there. `witness` holds a position and the id of the event that stood at it, with a space between. One that is about
 * another position than its row was left so by a process of the release before, and says nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.projection_checkpoints add column witness text`.execute(db);
  await sql`comment on column ledger.projection_checkpoints.witness is 'The position and the id of the event there'`.execute(db);

  await sql`
    alter table ledger.policy_checkpoints
      add column witness text,
      add column trail jsonb not null default '[]',
      -- Grows whenever policies are put back: who led them before writes no more.
      add column losses integer not null default 0`.execute(db);
  await sql`
    comment on column ledger.policy_checkpoints.witness is
    'The newest event that the leader had seen, and by that all that the reactions had appended: its position and its id'`.execute(db);
  await sql`
    comment on column ledger.policy_checkpoints.trail is
    'Where policies stood at some times before, oldest first: reached, and the witness of then'`.execute(db);

  await sql`alter table ledger.idempotency_keys add column log_position numeric(20)`.execute(db);
  await sql`
    comment on column ledger.idempotency_keys.log_position is
    'How far the log was when the answer was kept, as a number; null: not known'`.execute(db);

  await sql`alter table ledger.followed_log add column shown boolean not null default true`.execute(db);
  await sql`comment on column ledger.followed_log.shown is 'False while read models are made anew that showed what the log lost'`.execute(
    db,
  );

  await sql`
    create table ledger.log_losses (
      id bigint generated always as identity primary key,
      log_id text not null,
      from_position text,
      to_position text,
      noticed_at timestamptz not null default now(),
      acknowledged_at timestamptz,
      acknowledged_by text,
      reason text,
      acknowledgement jsonb,
      signature text
    )`.execute(db);
  await sql`create unique index log_losses_open on ledger.log_losses (log_id) where acknowledged_at is null`.execute(db);
  await sql`comment on table ledger.log_losses is 'When the log was found to have lost its end, and who has acknowledged it'`.execute(db);
}
