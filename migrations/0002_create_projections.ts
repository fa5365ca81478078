import { sql, type Kysely } from 'kysely';

/**
 * Where projections stand. The rows that they write live elsewhere, in a schema per generation (src/projecting/generations.ts),
 * so that a new generation can be built beside the live one and dropped as a whole.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.projection_generations (
      projection text not null,
      generation integer not null check (generation > 0),
      state text not null check (state in ('live', 'building', 'retired')),
      created_at timestamptz not null default now(),
      primary key (projection, generation)
    )`.execute(db);
  await sql`create unique index projection_generations_one_live on ledger.projection_generations (projection) where state = 'live'`.execute(
    db,
  );

  // Updated once per batch. The free half of each page keeps these updates in place (HOT) instead of growing the index.
  await sql`
    create table ledger.projection_checkpoints (
      projection text not null,
      generation integer not null,
      position text,
      version bigint not null default 0,
      updated_at timestamptz not null default now(),
      last_error text,
      primary key (projection, generation),
      foreign key (projection, generation) references ledger.projection_generations on delete cascade
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    comment on column ledger.projection_checkpoints.version is
    'Grows with every change of this generation''s rows, batches and repairs alike; a writer that did not expect it has lost the race'`.execute(
    db,
  );

  await sql`
    create table ledger.parked_streams (
      projection text not null,
      generation integer not null,
      stream text not null,
      position text not null,
      reason text not null,
      parked_at timestamptz not null default now(),
      primary key (projection, generation, stream),
      foreign key (projection, generation) references ledger.projection_generations on delete cascade
    )`.execute(db);

  // By revision, not by position: a position is opaque text and does not sort.
  await sql`
    create table ledger.parked_events (
      projection text not null,
      generation integer not null,
      stream text not null,
      revision bigint not null,
      position text not null,
      reason text not null,
      parked_at timestamptz not null default now(),
      primary key (projection, generation, stream, revision),
      foreign key (projection, generation, stream) references ledger.parked_streams on delete cascade
    )`.execute(db);
}
