import { sql, type Kysely } from 'kysely';

/** How often a client called in the window that runs, for all processes together. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Unlogged: a count is worth less than what it would cost to keep it through a crash of the server, and addresses stay out of backups.
  await sql`
    create unlogged table ledger.call_counts (
      tenant text not null,
      call text not null,
      -- A keyed hash of the client's address; the address is not stored.
      client text not null,
      began timestamptz not null,
      calls integer not null,
      primary key (tenant, call, client)
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index call_counts_by_age on ledger.call_counts (began)`.execute(db);
}
