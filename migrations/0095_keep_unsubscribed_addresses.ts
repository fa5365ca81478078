import { sql, type Kysely } from 'kysely';

/** Unsubscribing ends the mails to an address, for every user who has it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.unsubscribed_addresses (
      tenant text not null,
      mode text not null,
      address text not null,
      at timestamptz not null default now(),
      primary key (tenant, mode, address)
    )`.execute(db);
  await sql`comment on column ledger.unsubscribed_addresses.address is 'Its keyed digest'`.execute(db);
}
