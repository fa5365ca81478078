import { sql, type Kysely } from 'kysely';

/**
 * A parked reaction holds what is needed to carry it out again, and a stream whose events this release does not know is held back in the
 * same way: one row for the policy, or for all of them, whose reactions to this stream stand still from this event on. Rows of the release
 * before name the event alone.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table ledger.parked_reactions
      -- What operators name it by.
      add column id bigint generated always as identity,
      -- The event's place in its stream; null: of the release before.
      add column revision bigint,
      -- Of an event that the release could not know: its type and, where it could be read, the version of its shape.
      add column event_type text,
      add column schema_version integer,
      add column tries integer not null default 0,
      add column next_try_at timestamptz not null default now(),
      -- Grows whenever policies pass over later events of the stream: who takes it up knows by it whether it has come to the end.
      add column passed_over bigint not null default 0`.execute(db);
  await sql`create unique index parked_reactions_by_id on ledger.parked_reactions (id)`.execute(db);
  await sql`create index parked_reactions_by_stream on ledger.parked_reactions (stream)`.execute(db);
  await sql`create index parked_reactions_by_next_try on ledger.parked_reactions (next_try_at)`.execute(db);
  await sql`
    comment on column ledger.parked_reactions.policy is
    'Whose reactions to this stream wait from this event on; an asterisk: those of all policies, since the event cannot be read'`.execute(
    db,
  );
}
