import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { compiledOnce, epochMs, fetchRows, run, type Given } from '../../postgres/statements.js';
import { laneName } from '../../work-queue/work-items.js';
import {
  laneOf,
  withPlace,
  type EndpointName,
  type NewDelivery,
  type StoredPlace,
} from './delivery-rows.js';
import { FAILING_FROM, type Retried } from './retry-times.js';

/** Deliveries that this process has claimed, and the endpoints that they wait for. */

/** A delivery that this process is to send. */
export interface DueDelivery extends NewDelivery {
  /** Made so far. */
  readonly attempts: number;
  /** With the attempt that it is claimed for. */
  readonly retried: Retried;
}

interface DueRow extends StoredPlace, Omit<DueDelivery, 'event' | 'retried'> {
  readonly attemptsBefore: number;
  readonly retriedForMs: number;
  readonly heldMs: number | null;
}

/** Those that have not ended, by their ids. @throws while the database is unavailable. */
export async function dueDeliveries(
  pool: Pool,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DueDelivery>> {
  const rows = await fetchRows(pool, DUE({ ids }));
  return new Map(rows.map((row) => [row.id, deliveryOf(row)]));
}

/** From then until now, milliseconds. */
const sinceMs = (then: RawBuilder<unknown>) =>
  sql<number>`(extract(epoch from now() - ${then}) * 1000)::double precision`;

// By an array, so that the planner knows how few they are.
const DUE = compiledOnce(
  'webhook_deliveries.due',
  ({ ids }: Given<{ ids: readonly string[] }>) => sql<DueRow>`
    select d.id, tenant, mode, endpoint_id as "endpointId", webhook_id as "webhookId", type,
      subject, stream, revision, event_id as "eventId", ${epochMs(sql<Date>`d.created`)} as created,
      attempts, attempts_before as "attemptsBefore",
      case when attempts = attempts_before then 0
        else ${sinceMs(sql`coalesce(retried_from, d.created)`)} end as "retriedForMs",
      ${sinceMs(sql`held_until`)} as "heldMs"
    from ledger.webhook_deliveries d
    left join ledger.webhook_endpoints e using (tenant, mode, endpoint_id)
    where d.id = any(${ids}::uuid[]) and d.state = 'PENDING'`,
);

const deliveryOf = ({ attemptsBefore, retriedForMs, heldMs, ...row }: DueRow): DueDelivery => ({
  ...withPlace(row),
  retried: {
    attempts: row.attempts - attemptsBefore + 1,
    // The time since it was held back counts.
    forMs: Math.max(0, Math.min(retriedForMs, heldMs ?? Infinity)),
  },
});

/** Lanes of endpoints that may have less than others, as `laneName` names them. */
export interface EndpointLanes {
  /** Left alone for a while. */
  readonly paused: readonly string[];
  /** One at a time: failing, or never answered well. */
  readonly narrow: readonly string[];
}

export async function endpointLanes(pool: Pool): Promise<EndpointLanes> {
  const rows = await fetchRows(pool, LANES({}));
  const lanes = rows.map((row) => ({ ...row, lane: laneName(row.tenant, laneOf(row)) }));
  const named = (some: typeof lanes) => some.map(({ lane }) => lane);
  return {
    paused: named(lanes.filter(({ isPaused }) => isPaused)),
    narrow: named(lanes.filter(({ isPaused }) => !isPaused)),
  };
}

const LANES = compiledOnce(
  'webhook_endpoints.lanes',
  () => sql<EndpointName & { readonly isPaused: boolean }>`
    select tenant, mode, endpoint_id as "endpointId", pause_until > now() is true as "isPaused"
    from ledger.webhook_endpoints
    where state = 'ACTIVE'
      and (pause_until > now() or failures >= ${FAILING_FROM} or last_success is null)`,
);

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
        where e.state = 'UNSUBSCRIBED' and d.state = 'PENDING'
          and (d.event_id is not null or d.created < now() - interval '1 day')
        limit ${limit}
      )`,
  );
  return ended + gone;
}
