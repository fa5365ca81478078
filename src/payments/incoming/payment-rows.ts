import { sql } from 'kysely';
import type { Mode, Scope } from '../../domain/scope.js';
import type { WaitingForAccount } from '../../reacting/policy.js';
import { ProcessPresence } from '../../postgres/process-presence.js';
import { boundTo, fetchRow, fetchRows, run, type Connection } from '../../postgres/statements.js';

/**
 * What is known of payment providers beside the log: work and figures, no facts. Times are those of
 * the database's clock unless a parameter says otherwise.
 */

/** In Postgres, for any number of processes. Notes may be repeated. */
export const providerRows = (db: Connection) =>
  boundTo(db, {
    noteEvent,
    noteConnection,
    addWaiting,
    markLinked,
    claimSyncs,
    keepSync,
    endSync,
    waitedKeys,
    dropWaited,
    waitAgain,
  });

/** Where it is kept. */
export type ProviderRows = ReturnType<typeof providerRows>;

const DAILY = '24 hours';
/** A page is called for and recorded within this time, or another process may call for it. */
const LEASE = '60 seconds';

/** An event has arrived. @param at epoch milliseconds. */
export async function noteEvent(db: Connection, scope: Scope, at: number): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_tenants as known (tenant, mode, last_event_at, sync_due_at)
      values (${scope.tenant}, ${scope.mode}, ${new Date(at)}, now() + ${DAILY}::interval)
      on conflict (tenant, mode) do update
      set last_event_at = greatest(known.last_event_at, excluded.last_event_at)`,
  );
}

/** A tenant and mode has a new connection: its provider is walked daily from now on. */
export async function noteConnection(db: Connection, { tenant, mode }: Scope): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_tenants (tenant, mode, sync_due_at)
      values (${tenant}, ${mode}, now() + ${DAILY}::interval)
      on conflict (tenant, mode) do update
      set sync_due_at = excluded.sync_due_at, sync_since = null, sync_cursor = null, failures = 0,
        problem = null, sync_late_since = null, leased_until = null, claimed_by = null`,
  );
}

/** An operator has walked the provider. */
export async function noteSync(db: Connection, { tenant, mode }: Scope): Promise<void> {
  await run(
    db,
    sql`
      insert into ledger.payment_tenants (tenant, mode, last_sync_at, sync_due_at)
      values (${tenant}, ${mode}, now(), now() + ${DAILY}::interval)
      on conflict (tenant, mode) do update set last_sync_at = now()`,
  );
}

/** No account has the customer of the stream. Nothing, when it is noted already. */
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

/** An account has got the customer of the stream: its events wait no longer. */
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

/** @param since epoch milliseconds: what was recorded before does not wait any more. */
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
          where tenant = ${tenant} and mode = ${mode}) as "lastEventAt",
        (select last_sync_at from ledger.payment_tenants
          where tenant = ${tenant} and mode = ${mode}) as "lastSyncAt",
        (select count(*)::integer from ledger.payment_waiting_events
          where tenant = ${tenant} and mode = ${mode} and not is_linked
            and at >= ${new Date(since)}) as "waitingEvents"`,
  );
  return row ?? { lastEventAt: null, lastSyncAt: null, waitingEvents: 0 };
}

/** A walk that this process goes on with. */
export interface ClaimedSync {
  readonly tenant: string;
  readonly mode: Mode;
  /** Null: it begins. */
  readonly since: Date | null;
  readonly cursor: string | null;
  readonly failures: number;
  readonly lastSyncAt: Date | null;
  /** When it was due; null: its tenant was suspended meanwhile. */
  readonly lateSince: Date | null;
}

/** Claims due walks, those that are due longest first. A claim ends with its time or process. */
export function claimSyncs(
  db: Connection,
  process: number,
  atMost: number,
): Promise<readonly ClaimedSync[]> {
  return fetchRows(
    db,
    sql<ClaimedSync>`
      with due as materialized (
        select tenant, mode from ledger.payment_tenants
        where sync_due_at <= now() and (leased_until is null or leased_until < now()
          or (claimed_by <> ${process} and ${ProcessPresence.isGone(sql`claimed_by`)}))
        order by sync_due_at limit ${atMost}
        for update skip locked
      )
      update ledger.payment_tenants known
      set leased_until = now() + ${LEASE}::interval, claimed_by = ${process},
        sync_late_since = coalesce(sync_late_since, sync_due_at)
      from due where known.tenant = due.tenant and known.mode = due.mode
      returning known.tenant, known.mode, sync_since as since, sync_cursor as cursor, failures,
        last_sync_at as "lastSyncAt", sync_late_since as "lateSince"`,
  );
}

type Claim = Scope & { readonly process: number };

/** How far a walk is. */
interface WalkedTo {
  readonly since: number;
  readonly cursor: string | null;
}

const isMine = ({ tenant, mode, process }: Claim) =>
  sql`tenant = ${tenant} and mode = ${mode} and claimed_by = ${process}`;

/** A page is done. @returns false: another process has the walk. */
export async function keepSync(
  db: Connection,
  claim: Claim,
  { since, cursor }: WalkedTo,
): Promise<boolean> {
  const kept = await run(
    db,
    sql`
      update ledger.payment_tenants
      set sync_since = ${new Date(since)}, sync_cursor = ${cursor}, failures = 0, problem = null,
        leased_until = now() + ${LEASE}::interval
      where ${isMine(claim)}`,
  );
  return kept > 0;
}

export type SyncEnd =
  /** The next one begins in a day. */
  | { readonly kind: 'done' }
  /** There is more, behind the others that are due. */
  | { readonly kind: 'more' }
  /** The next connection makes it due again. */
  | { readonly kind: 'not-connected' }
  /** For no fault of the provider. */
  | { readonly kind: 'postponed'; readonly inMs: number }
  | { readonly kind: 'suspended'; readonly inMs: number }
  /** Goes on at its page, or begins anew. */
  | {
      readonly kind: 'failed';
      readonly inMs: number;
      readonly reason: string;
      readonly beginsAnew: boolean;
    };

/** Gives the walk back. What is another process's stays as it is. */
export async function endSync(db: Connection, claim: Claim, end: SyncEnd): Promise<void> {
  await run(
    db,
    sql`
      update ledger.payment_tenants set ${changesOf(end)}, leased_until = null, claimed_by = null
      where ${isMine(claim)}`,
  );
}

function changesOf(end: SyncEnd) {
  const over = sql`sync_since = null, sync_cursor = null, failures = 0, problem = null,
    sync_late_since = null`;
  switch (end.kind) {
    case 'done':
      return sql`last_sync_at = now(), sync_due_at = now() + ${DAILY}::interval, ${over}`;
    case 'more':
      return sql`sync_due_at = now()`;
    case 'not-connected':
      return sql`sync_due_at = null, ${over}`;
    case 'postponed':
      return sql`sync_due_at = ${soon(end.inMs)}`;
    case 'suspended':
      return sql`sync_due_at = ${soon(end.inMs)}, sync_late_since = null`;
    case 'failed':
      return sql`sync_due_at = ${soon(end.inMs)}, failures = failures + 1, problem = ${end.reason}
        ${end.beginsAnew ? sql`, sync_since = null, sync_cursor = null` : sql``}`;
  }
}

const soon = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`;

/** A key whose events have all waited long enough. */
export interface WaitedKey {
  readonly subject: string;
  readonly stream: string;
}

/** @param before epoch milliseconds. */
export function waitedKeys(
  db: Connection,
  before: number,
  atMost: number,
): Promise<readonly WaitedKey[]> {
  const end = new Date(before);
  return fetchRows(
    db,
    sql<WaitedKey>`
      select distinct subject, stream from (
        select subject, stream from ledger.payment_waiting_events old
        where at < ${end} and not exists (
          select from ledger.payment_waiting_events newer
          where newer.subject = old.subject and newer.at >= ${end})
        order by at limit ${atMost}) as waited`,
  );
}

/** @param before epoch milliseconds: newer ones stay. */
export async function dropWaited(db: Connection, subject: string, before: number): Promise<void> {
  await run(
    db,
    sql`
      delete from ledger.payment_waiting_events
      where subject = ${subject} and at < ${new Date(before)}`,
  );
}

/** An account has the customer: the key stays for now. @param at epoch milliseconds. */
export async function waitAgain(db: Connection, subject: string, at: number): Promise<void> {
  await run(
    db,
    sql`
      update ledger.payment_waiting_events set is_linked = true, at = ${new Date(at)}
      where subject = ${subject}`,
  );
}
