import { sql, type Kysely } from 'kysely';

/** Accounts with rewards that the payment provider is to be paid with. Work, not facts: which rewards, how far they are and what came of them is in the log. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.payment_work (
      tenant text not null,
      mode text not null,
      account text not null,
      next_attempt_at timestamptz not null,
      failures integer not null default 0,
      reason text,
      retries_parked boolean not null default false,
      woken bigint not null default 0,
      leased_until timestamptz,
      claimed_by integer,
      primary key (tenant, mode, account)
    )`.execute(db);
  await sql`comment on column ledger.payment_work.account is 'Its keyed hash'`.execute(db);
  await sql`comment on column ledger.payment_work.failures is 'In a row, without a call that went through'`.execute(db);
  await sql`comment on column ledger.payment_work.retries_parked is 'Whether refused rewards are tried again'`.execute(db);
  await sql`comment on column ledger.payment_work.woken is 'Counts the events that asked for the account: one that comes meanwhile is not lost'`.execute(
    db,
  );
  await sql`
    create index payment_work_due on ledger.payment_work (tenant, next_attempt_at)`.execute(db);
}
