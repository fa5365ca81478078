import { sql } from 'kysely';
import { modeOf, type Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { WaitingForAccount } from '../../reacting/policy.js';
import { boundTo, fetchRow, fetchRows, run, type Connection } from '../../postgres/statements.js';
import { addWork, type NewWork } from '../../work-queue/work-items.js';

/**
 * Work and figures of payment providers, which are not in the log. Times are those of the
 * database's clock unless a parameter says otherwise.
 */

/** Shared by any number of processes. All writes are idempotent. */
export const providerRows = (db: Connection) =>
  boundTo(db, {
    recordEventTime,
    recordConnection,
    addWaiting,
    markLinked,
    recordSync,
    walkedAt,
    expiredKeys,
    dropExpired,
    restartWait,
  });

export type ProviderRows = ReturnType<typeof providerRows>;

/** Work kind of walks, with a lane per mode. */
export const WALKS = 'payment-walk';
export const DAY_MS = 24 * 3_600_000;

/** The walk of a provider; the first one is due in a day. */
export const walkOf = ({ tenant, mode }: Scope): NewWork => ({
  kind: WALKS,
  id: `${tenant} ${modeOf(mode)}`,
  tenant,
  lane: modeOf(mode),
  dueAt: timeNow() + DAY_MS,
  payload: {},
});

/** Records the time of the newest event. @param at epoch milliseconds. */
export async function recordEventTime(db: Connection, scope: Scope, at: number): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_tenants as known (tenant, mode, last_event_at)
      values (${scope.tenant}, ${modeOf(scope.mode)}, ${new Date(at)})
      on conflict (tenant, mode) do update
      set last_event_at = greatest(known.last_event_at, excluded.last_event_at)`,
  );
}

/** Starts the daily walks of a new connection. */
export async function recordConnection(db: Connection, scope: Scope): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_tenants (tenant, mode) values (${scope.tenant}, ${modeOf(scope.mode)})
      on conflict do nothing`,
  );
  await addWork(db, [walkOf(scope)], 'replacement');
}

/** Records the end of a walk. */
export async function recordSync(db: Connection, scope: Scope): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_tenants (tenant, mode, last_sync_at)
      values (${scope.tenant}, ${modeOf(scope.mode)}, now())
      on conflict (tenant, mode) do update set last_sync_at = now()`,
  );
  await addWork(db, [walkOf(scope)], 'missing');
}

/** Records an event of a customer without an account, once. */
export async function addWaiting(
  db: Connection,
  { tenant, mode }: Scope,
  stream: string,
  { eventRef, subject, at }: WaitingForAccount,
): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_waiting_events (event_ref, stream, tenant, mode, subject, at)
      values (${eventRef}, ${stream}, ${tenant}, ${mode}, ${subject}, ${new Date(at)})
      on conflict (event_ref) do nothing`,
  );
}

/** The customer of the stream has an account now: its events no longer wait. */
export async function markLinked(db: Connection, stream: string): Promise<void> {
  await run(
    db,
    sql`
      update ledger.payment_waiting_events set is_linked = true
      where stream = ${stream} and not is_linked`,
  );
}

export interface ProviderFigures {
  readonly lastEventAt: Date | null;
  readonly lastSyncAt: Date | null;
  /** Recorded since the given time. */
  readonly waitingEvents: number;
}

/** @param since epoch milliseconds: older events no longer wait. */
export async function figuresOf(
  db: Connection,
  { tenant, mode }: Scope,
  since: number,
): Promise<ProviderFigures> {
  const row = await fetchRow(
    db,
    sql<ProviderFigures>`
      select
        (select last_event_at from ledger.payment_tenants
          where tenant = ${tenant} and mode = ${modeOf(mode)}) as "lastEventAt",
        (select last_sync_at from ledger.payment_tenants
          where tenant = ${tenant} and mode = ${modeOf(mode)}) as "lastSyncAt",
        (select count(*)::integer from ledger.payment_waiting_events
          where tenant = ${tenant} and mode = ${mode} and not is_linked
            and at >= ${new Date(since)}) as "waitingEvents"`,
  );
  return row ?? { lastEventAt: null, lastSyncAt: null, waitingEvents: 0 };
}

/** Customers of events without an account. */
export async function waitingCustomers(
  db: Connection,
  { tenant, mode }: Scope,
  since: number,
): Promise<number> {
  const row = await fetchRow(
    db,
    sql<{ count: number }>`
      select count(distinct stream)::integer as count from ledger.payment_waiting_events
      where tenant = ${tenant} and mode = ${mode} and not is_linked and at >= ${new Date(since)}`,
  );
  return row?.count ?? 0;
}

/** Time of the last walk; null: none yet. */
export async function walkedAt(db: Connection, { tenant, mode }: Scope): Promise<Date | null> {
  const row = await fetchRow(
    db,
    sql<{ at: Date | null }>`
      select last_sync_at as at from ledger.payment_tenants
      where tenant = ${tenant} and mode = ${modeOf(mode)}`,
  );
  return row?.at ?? null;
}

/** A key whose events have all waited for the maximum time. */
export interface ExpiredKey {
  readonly subject: string;
  readonly stream: string;
}

/** @param before epoch milliseconds. */
export function expiredKeys(
  db: Connection,
  before: number,
  atMost: number,
): Promise<readonly ExpiredKey[]> {
  const end = new Date(before);
  return fetchRows(
    db,
    sql<ExpiredKey>`
      select distinct subject, stream from (
        select subject, stream from ledger.payment_waiting_events old
        where at < ${end} and not exists (
          select from ledger.payment_waiting_events newer
          where newer.subject = old.subject and newer.at >= ${end})
        order by at limit ${atMost}) as waited`,
  );
}

/** @param before epoch milliseconds: newer events stay. */
export async function dropExpired(db: Connection, subject: string, before: number): Promise<void> {
  await run(
    db,
    sql`
      delete from ledger.payment_waiting_events
      where subject = ${subject} and at < ${new Date(before)}`,
  );
}

/**
 * Keeps the key for another waiting time, because an account has the customer.
 * @param at epoch milliseconds.
 */
export async function restartWait(db: Connection, subject: string, at: number): Promise<void> {
  await run(
    db,
    sql`
      update ledger.payment_waiting_events set is_linked = true, at = ${new Date(at)}
      where subject = ${subject}`,
  );
}
