import { sql, type Kysely } from 'kysely';

/** Mails that are to be sent or were sent: for whom and because of which event, by ids of the ledger. Address and content are made from the log. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.mail_deliveries (
      id uuid primary key,
      tenant text not null,
      mode text not null,
      type text not null,
      account text not null,
      person uuid not null,
      about text,
      stream text not null,
      revision bigint not null,
      event_id uuid not null,
      created timestamptz not null,
      state text not null default 'PENDING',
      attempts integer not null default 0,
      next_attempt_at timestamptz,
      retried_until timestamptz,
      leased_until timestamptz,
      claimed_by integer,
      reason text,
      ended_at timestamptz
    )`.execute(db);
  await sql`comment on column ledger.mail_deliveries.account is 'Of the recipient: its keyed hash'`.execute(db);
  await sql`comment on column ledger.mail_deliveries.about is 'The reward that it is about'`.execute(db);
  await sql`comment on column ledger.mail_deliveries.state is 'PENDING, SENDING (from before the first byte to the server until its answer is recorded), DELIVERED, DEAD or UNKNOWN'`.execute(
    db,
  );
  await sql`comment on column ledger.mail_deliveries.retried_until is 'When a failure is the last one; null: no attempt has failed'`.execute(
    db,
  );
  await sql`
    create index mail_deliveries_due on ledger.mail_deliveries (tenant, next_attempt_at)
    where state = 'PENDING'`.execute(db);
  await sql`
    create index mail_deliveries_sending on ledger.mail_deliveries (leased_until)
    where state = 'SENDING'`.execute(db);
  await sql`
    create index mail_deliveries_listed on ledger.mail_deliveries (tenant, mode, created desc, id)`.execute(db);
  await sql`
    create index mail_deliveries_ended on ledger.mail_deliveries (ended_at)
    where ended_at is not null`.execute(db);
}
