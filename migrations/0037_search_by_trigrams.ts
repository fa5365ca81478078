import { sql, type Kysely } from 'kysely';

/**
 * Trigrams, for the index by which users are searched. In the schema of the service, unless the database has the extension already. A role
 * that may create schemas in the database may create it: it is a trusted extension.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`select from pg_extension where extname = 'pg_trgm'`.execute(db);
  if (rows.length > 0) return;
  try {
    await sql`create extension pg_trgm with schema ledger`.execute(db);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unknown';
    throw new Error(
      `the database needs the extension pg_trgm, which this role cannot create (${reason}): as a role that may, run "create extension pg_trgm" in this database, then start again`,
      { cause: error },
    );
  }
}
