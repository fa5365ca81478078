import { sql, type Kysely } from 'kysely';

/**
 * A parked stream is named by the event that cannot be applied; what waits after it is in the log.
 * Null: of a release before, which looks from the first event on. Its table of waiting events stays
 * for that release.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table ledger.parked_streams add column revision bigint`.execute(db);
  await sql`
    update ledger.parked_streams s set revision = e.revision from ledger.parked_events e
    where e.projection = s.projection and e.generation = s.generation
      and e.stream = s.stream and e.position = s.position`.execute(db);
}
