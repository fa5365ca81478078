import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { fetchRow, fetchRows, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import type { WebhookType } from '../payloads/announced.js';
import type { EndpointName } from './delivery-rows.js';
import { FAILING_FROM, nextAttemptAt, PROBE_SECONDS_MAX } from './retry-times.js';

/** Deliveries that are due, claimed for an attempt, and what became of it. */

/** At once to one endpoint, by all processes; to a failing one it is one. */
const AT_ONCE_PER_ENDPOINT = 10;
/** A process that claimed a delivery and died leaves it to others behind this time. */
const LEASE = '60 s';
/** An answer that took longer makes its endpoint a slow one. */
const SLOW_MS = 2_000;

/** A delivery that this process is to send. */
export interface ClaimedDelivery extends EndpointName {
  readonly id: string;
  readonly webhookId: string;
  readonly type: WebhookType;
  readonly subject: Readonly<Record<string, string>>;
  readonly event: {
    readonly stream: string;
    readonly revision: bigint;
    readonly eventId: string;
  } | null;
  /** Epoch milliseconds. */
  readonly created: number;
  /** Made so far. */
  readonly attempts: number;
  readonly isSlow: boolean;
  /** Names the claim. */
  readonly leasedUntil: string;
}

export interface Attempt {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly ms: number;
  /** Null: no answer came, and `reason` says why. */
  readonly status: number | null;
  readonly reason: string | null;
  readonly retryAfterMs: number | null;
  /** The beginning of the answer, encrypted; null: none. */
  readonly beginning: Buffer | null;
}

/** What is claimed at most. */
export interface Room {
  readonly deliveries: number;
  /** Whether endpoints that answer slowly or fail are the ones to claim for, or the others. */
  readonly areSlow: boolean;
  /** Tenants that have as many attempts under way as they may have. */
  readonly fullTenants: readonly string[];
  /** How many further ones a tenant may have. */
  readonly leftOf: (tenant: string) => number;
}

interface DueRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly type: WebhookType;
  readonly subject: Readonly<Record<string, string>>;
  readonly stream: string | null;
  readonly revision: bigint | null;
  readonly event_id: string | null;
  readonly created: Date;
  readonly attempts: number;
  readonly leased_until: string;
}

/**
 * Claims due deliveries, of the endpoints that have waited longest. Of an endpoint one process
 * claims at a time. @throws while the database is unavailable.
 */
export async function claimDue(pool: Pool, room: Room): Promise<readonly ClaimedDelivery[]> {
  return inTransaction(pool, async (client) => {
    const endpoints = await fetchRows(
      client,
      sql<DueEndpoint>`
        select tenant, mode, endpoint_id as "endpointId", failures from ledger.webhook_endpoints
        where state = 'ACTIVE' and due_at <= now() and is_slow = ${room.areSlow}
          and (pause_until is null or pause_until <= now())
          and tenant <> all(${[...room.fullTenants]}::text[])
        order by due_at limit ${room.deliveries}
        for update skip locked`,
    );
    const claimed: ClaimedDelivery[] = [];
    for (const endpoint of endpoints) {
      const ofTenant = claimed.filter(({ tenant }) => tenant === endpoint.tenant).length;
      const left = Math.min(
        room.deliveries - claimed.length,
        room.leftOf(endpoint.tenant) - ofTenant,
      );
      if (left <= 0) continue;
      for (const row of await claimOf(client, endpoint, left))
        claimed.push(claimedOf(endpoint, row, room.areSlow));
    }
    return claimed;
  });
}

type DueEndpoint = EndpointName & { readonly failures: number };

async function claimOf(
  client: PoolClient,
  { failures, ...endpoint }: DueEndpoint,
  limit: number,
): Promise<readonly DueRow[]> {
  const { tenant, mode, endpointId } = endpoint;
  const ofEndpoint = sql`tenant = ${tenant} and mode = ${mode} and endpoint_id = ${endpointId}`;
  const places = (failures >= FAILING_FROM ? 1 : AT_ONCE_PER_ENDPOINT) - (await underWay());
  const take = Math.max(0, Math.min(limit, places));
  const rows = take === 0 ? [] : await lease();
  // Those that find no place are looked at when one of those under way has ended.
  const due =
    rows.length < take
      ? sql`(
          select min(next_attempt_at) from ledger.webhook_deliveries
          where ${ofEndpoint} and state = 'PENDING'
        )`
      : take === limit && limit < places
        ? sql`now()`
        : sql`now() + ${LEASE}::interval`;
  await run(client, sql`update ledger.webhook_endpoints set due_at = ${due} where ${ofEndpoint}`);
  return rows;

  async function underWay(): Promise<number> {
    const row = await fetchRow(
      client,
      sql<{ count: number }>`
        select count(*)::integer as count from ledger.webhook_deliveries
        where ${ofEndpoint} and leased_until > now()`,
    );
    return row?.count ?? 0;
  }

  function lease(): Promise<DueRow[]> {
    return fetchRows(
      client,
      sql<DueRow>`
        update ledger.webhook_deliveries
        set leased_until = now() + ${LEASE}::interval, next_attempt_at = now() + ${LEASE}::interval
        where id in (
          select id from ledger.webhook_deliveries
          where ${ofEndpoint} and state = 'PENDING' and next_attempt_at <= now()
          order by next_attempt_at limit ${take}
        )
        returning id, webhook_id, type, subject, stream, revision, event_id, created, attempts,
          leased_until::text as leased_until`,
    );
  }
}

const claimedOf = (
  { failures: _, ...endpoint }: DueEndpoint,
  row: DueRow,
  isSlow: boolean,
): ClaimedDelivery => {
  const { stream, revision, event_id: eventId } = row;
  return {
    ...endpoint,
    id: row.id,
    webhookId: row.webhook_id,
    type: row.type,
    subject: row.subject,
    event:
      stream === null || revision === null || eventId === null
        ? null
        : { stream, revision, eventId },
    created: row.created.getTime(),
    attempts: row.attempts,
    isSlow,
    leasedUntil: row.leased_until,
  };
};

/** An attempt that ended well, or the way of a failed one. */
export type AttemptOutcome = 'delivered' | 'failed' | 'gone';

/** Of an answer: 2xx is success, 410 asks for no more; null: there was none. */
export const outcomeOf = (status: number | null): AttemptOutcome =>
  status === null || status < 200 || status > 299
    ? status === 410
      ? 'gone'
      : 'failed'
    : 'delivered';

/**
 * Records an attempt: what it came to, when the next one is, and how the endpoint does. A claim
 * that has lapsed and was taken by another process changes nothing more, but for a success.
 */
export async function recordAttempt(
  pool: Pool,
  { id, attempts, created, leasedUntil, ...of }: ClaimedDelivery,
  { at, ms, status, reason, retryAfterMs, beginning }: Attempt,
): Promise<void> {
  const outcome = outcomeOf(status);
  const number = attempts + 1;
  const next =
    outcome === 'failed'
      ? nextAttemptAt({ now: at + ms, created, attempts: number }, retryAfterMs)
      : null;
  const state = outcome === 'delivered' ? 'DELIVERED' : next === null ? 'DEAD' : 'PENDING';
  const isDelivered = outcome === 'delivered';
  await run(
    pool,
    sql`
      with delivery as (
        update ledger.webhook_deliveries
        set attempts = attempts + 1, state = ${state}, leased_until = null,
          next_attempt_at = ${next === null ? null : new Date(next)}::timestamptz,
          ended_at = case when ${state} = 'PENDING' then null else now() end
        where id = ${id} and state <> 'DELIVERED'
          and (${isDelivered} or leased_until = ${leasedUntil}::timestamptz)
        returning id, attempts
      ), attempt as (
        insert into ledger.webhook_attempts (delivery_id, number, at, status, reason, ms, beginning)
        select id, attempts, ${new Date(at)}::timestamptz, ${status}::integer, ${reason}::text,
          ${ms}::integer, ${beginning}::bytea
        from delivery on conflict do nothing
      )
      update ledger.webhook_endpoints
      set failures = case when ${isDelivered} then 0 else failures + 1 end,
        is_slow = ${isDelivered && ms <= SLOW_MS ? false : sql`is_slow or ${ms > SLOW_MS}`},
        pause_until = case when ${isDelivered} or failures + 1 < ${FAILING_FROM} then null
          else now() + least(${PROBE_SECONDS_MAX}, power(2, least(failures + 1 - ${FAILING_FROM}, 10)))
            * interval '1 s' end,
        last_success = case when ${isDelivered} then now() else last_success end,
        due_at = least(due_at, now())
      where tenant = ${of.tenant} and mode = ${of.mode} and endpoint_id = ${of.endpointId}`,
  );
}

/** A delivery that is about nothing any more (forgotten, lost, unsubscribed) leaves no trace. */
export async function dropDelivery(pool: Pool, { id }: ClaimedDelivery): Promise<void> {
  await run(pool, tables.deleteFrom('ledger.webhook_deliveries').where('id', '=', id));
}

/** For how long, in milliseconds, and whether its endpoint is left alone as well. */
export interface Postponed {
  readonly notFor: number;
  readonly endpoint: boolean;
}

/** Not now, and no attempt. */
export async function postpone(
  pool: Pool,
  { id, tenant, mode, endpointId, leasedUntil }: ClaimedDelivery,
  { notFor, endpoint }: Postponed,
): Promise<void> {
  const until = sql`now() + ${`${notFor} ms`}::interval`;
  await run(
    pool,
    sql`
      with delivery as (
        update ledger.webhook_deliveries
        set leased_until = null, next_attempt_at = ${until}
        where id = ${id} and leased_until = ${leasedUntil}::timestamptz
      )
      update ledger.webhook_endpoints
      set pause_until = ${endpoint ? until : sql`pause_until`}, due_at = least(due_at, now())
      where tenant = ${tenant} and mode = ${mode} and endpoint_id = ${endpointId}`,
  );
}

/**
 * Deletes ended deliveries of before, and those of endpoints that are gone; so many at most.
 * @returns how many.
 */
export async function purgeDeliveries(pool: Pool, before: Date, limit: number): Promise<number> {
  const ended = await run(
    pool,
    sql`
      delete from ledger.webhook_deliveries where id in (
        select id from ledger.webhook_deliveries where ended_at < ${before} limit ${limit}
      )`,
  );
  await run(
    pool,
    sql`
      delete from ledger.webhook_endpoints e
      where state = 'UNSUBSCRIBED' and changed_at < ${before} and not exists (
        select from ledger.webhook_deliveries d
        where d.tenant = e.tenant and d.mode = e.mode and d.endpoint_id = e.endpoint_id
      )`,
  );
  const gone = await run(
    pool,
    sql`
      delete from ledger.webhook_deliveries where id in (
        select d.id from ledger.webhook_endpoints e
        join ledger.webhook_deliveries d using (tenant, mode, endpoint_id)
        where e.state = 'UNSUBSCRIBED' and d.state = 'PENDING' limit ${limit}
      )`,
  );
  return ended + gone;
}
