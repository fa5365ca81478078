import { sql, type Kysely } from 'kysely';

/** Operators who are signed in to the console. The token itself is known to the browser alone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.operator_sessions (
      token_sha256 bytea primary key,
      operator text not null,
      key_sha256 text not null,
      began timestamptz not null default now(),
      ends timestamptz not null
    )`.execute(db);
  await sql`comment on column ledger.operator_sessions.key_sha256 is 'Of the key that signed in: the session ends with it'`.execute(db);
  await sql`create index operator_sessions_listed on ledger.operator_sessions (operator, began)`.execute(db);
}
