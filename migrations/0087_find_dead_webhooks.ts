import { sql, type Kysely } from 'kysely';

/** How many deliveries of a tenant are dead is read every few seconds, by each open overview. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index webhook_deliveries_dead on ledger.webhook_deliveries (tenant, mode)
    where state = 'DEAD'`.execute(db);
}
