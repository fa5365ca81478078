import { sql, type Kysely } from 'kysely';

/**
 * One queue for background work. Jobs of the library that kept them before are added again from
 * the log, ten minutes later: its tables stay for a process of the release before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger.work_items (
      kind text not null,
      id text not null,
      tenant text not null,
      lane text not null default '',
      due_at timestamptz not null,
      waiting_since timestamptz not null,
      attempts integer not null default 0,
      payload jsonb not null default '{}',
      woken bigint not null default 0,
      reason text,
      claimed_by integer,
      claimed_at timestamptz,
      claimed_until timestamptz,
      given_up_at timestamptz,
      primary key (kind, id)
    )`.execute(db);
  await sql`comment on table ledger.work_items is 'What is to be done: ids of the ledger, never a value of a person'`.execute(db);
  await sql`comment on column ledger.work_items.lane is 'Items of a tenant that share a bound, such as those of an endpoint'`.execute(db);
  await sql`comment on column ledger.work_items.waiting_since is 'When it was first due'`.execute(db);
  await sql`comment on column ledger.work_items.attempts is 'Claims, but for those that it was postponed after'`.execute(db);
  await sql`comment on column ledger.work_items.woken is 'Counts additions: one that comes while a process works on the item is worked on next'`.execute(
    db,
  );
  await sql`
    create index work_items_open on ledger.work_items (kind, tenant, lane, due_at)
    where claimed_by is null and given_up_at is null`.execute(db);
  await sql`
    create index work_items_due on ledger.work_items (kind, due_at)
    where claimed_by is null and given_up_at is null`.execute(db);
  await sql`
    create index work_items_claimed on ledger.work_items (kind, tenant, lane)
    where claimed_by is not null`.execute(db);
  await sql`
    create index work_items_given_up on ledger.work_items (kind, given_up_at)
    where given_up_at is not null`.execute(db);
  await sql`
    insert into ledger.work_items (kind, id, tenant, due_at, waiting_since, payload)
    select 'job', 'repeat-lost-jobs', '', now() + interval '10 minutes',
      now() + interval '10 minutes', jsonb_build_object('task', 'repeat-lost-jobs', 'since',
        to_char(now() at time zone 'utc' - interval '30 days', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    where to_regclass('graphile_worker._private_jobs') is not null`.execute(db);
  await sql`
    insert into ledger.work_items
      (kind, id, tenant, lane, due_at, waiting_since, payload, attempts, reason)
    select 'payment', concat_ws(' ', tenant, mode, account), tenant, mode, next_attempt_at,
      waiting_since, jsonb_build_object('account', account) || case when retries_parked
        then '{"retriesParked": "true"}'::jsonb else '{}'::jsonb end, failures, reason
    from ledger.payment_work
    union all
    select 'payment-walk', concat_ws(' ', tenant, mode), tenant, mode, sync_due_at,
      coalesce(sync_late_since, sync_due_at), '{}', 0, problem
    from ledger.payment_tenants where sync_due_at is not null`.execute(db);
}
