import { sql, type Kysely } from 'kysely';

/** The keys that sign webhooks. At most one is current; others are served until receivers no longer need them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.webhook_signing_keys (
      -- Its thumbprint (RFC 7638).
      kid text collate "C" primary key,
      public_jwk jsonb not null,
      -- The private key, encrypted; a key that signs no more has none.
      sealed bytea,
      created_by text not null,
      created_at timestamptz not null default now(),
      -- Null: the current key.
      served_until timestamptz,
      check ((sealed is null) = (served_until is not null))
    )`.execute(db);
  await sql`
    create unique index webhook_signing_keys_current on ledger.webhook_signing_keys ((true)) where served_until is null`.execute(db);
}
