import { sql, type Kysely } from 'kysely';

/** No release writes or reads snapshots: streams are folded from their first event. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop table ledger.stream_snapshots`.execute(db);
}
