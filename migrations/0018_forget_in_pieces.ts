import { sql, type Kysely } from 'kysely';

/**
 * People are cleaned out of a read model in pieces. Until the last piece is done, a row here says whom its queries must not show, and where
 * the next piece begins.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.projection_erasures (
      projection text not null,
      generation integer not null,
      account_ref text not null,
      erasure_id text not null,
      tenant text not null,
      mode text not null,
      persons text[] not null,
      -- Where the next piece begins; the program's own.
      next_piece jsonb not null,
      begun_at timestamptz not null default now(),
      primary key (projection, generation, account_ref, erasure_id),
      foreign key (projection, generation) references ledger.projection_generations on delete cascade
    )`.execute(db);
  await sql`comment on table ledger.projection_erasures is 'Erasures whose people are not cleaned out of all rows of a generation yet'`.execute(
    db,
  );
}
