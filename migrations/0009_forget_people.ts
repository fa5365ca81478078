import { sql, type Kysely } from 'kysely';

/**
 * Read models learn whose values they show, so that an erasure finds them. Rows that were written before cannot tell: all generations
 * are dropped, and the next start makes new ones and fills them from the log. The vault remembers how far the log's erasures are known
 * to be carried out on its keys: a copy that is restored brings its own mark along, and what came later is carried out again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $block$
    declare
      built record;
    begin
      for built in
        select format('rm_%s_%s', replace(g.projection, '-', '_'), g.generation) as schema from ledger.projection_generations g
      loop
        execute format('drop schema if exists %I cascade', built.schema);
      end loop;
    end
    $block$`.execute(db);
  await sql`delete from ledger.projection_generations`.execute(db);

  await sql`
    create table vault.erasures_checked (
      one boolean primary key default true check (one),
      -- Of which log, and up to where its erasures were carried out; null: from its beginning.
      log_id text not null,
      position text
    )`.execute(db);
  await sql`
    create table vault.scrubbed (
      one boolean primary key default true check (one),
      -- Everything that was erased before has left the files.
      until timestamptz not null
    )`.execute(db);
  await sql`create index subject_keys_destroyed on vault.subject_keys (destroyed_at) where destroyed_at is not null`.execute(db);
}
