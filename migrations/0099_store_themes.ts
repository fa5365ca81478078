import { sql, type Kysely } from 'kysely';

/** The own values of a tenant's locales, a row for each version. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.themes (
      tenant text not null,
      mode text not null,
      -- Empty: the default.
      locale text not null,
      version integer not null,
      is_newest boolean not null default true,
      -- JSON as it was written; null: the values were removed.
      own_values text,
      bytes integer not null,
      restores integer,
      -- The encrypted name of an operator; null: the caller of the command.
      changed_by jsonb,
      command_id uuid not null unique,
      command jsonb not null,
      at timestamptz not null,
      -- Of the audit event; null: it is not recorded yet.
      position text,
      primary key (tenant, mode, locale, version)
    )`.execute(db);
  await sql`create unique index themes_newest on ledger.themes (tenant, mode, locale) where is_newest`.execute(db);
  await sql`create index themes_unrecorded on ledger.themes (at) where position is null`.execute(db);
}
