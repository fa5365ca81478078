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
import { FAILING_FROM, type RetryHistory } from './retry-times.js';

/** A delivery that this process has claimed. */
export interface DueDelivery extends NewDelivery {
  /** Earlier attempts. */
  readonly attempts: number;
  /** Includes the attempt that it is claimed for. */
  readonly retried: RetryHistory;
}

interface DueRow extends StoredPlace, Omit<DueDelivery, 'event' | 'retried'> {
  readonly attemptsBefore: number;
  readonly retriedForMs: number;
  readonly heldMs: number | null;
}

/** The pending ones of these deliveries, by id. @throws while the database is unavailable. */
export async function dueDeliveries(
  pool: Pool,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DueDelivery>> {
  const rows = await fetchRows(pool, DUE_DELIVERIES({ ids }));
  return new Map(rows.map((row) => [row.id, deliveryOf(row)]));
}

const sinceMs = (then: RawBuilder<unknown>) =>
  sql<number>`(extract(epoch from now() - ${then}) * 1000)::double precision`;

// With an array the planner knows the number of rows.
const DUE_DELIVERIES = compiledOnce(
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
    // Only the time since its endpoint was enabled counts.
    forMs: Math.max(0, Math.min(retriedForMs, heldMs ?? Infinity)),
  },
});

/** Lanes of limited endpoints, as `laneName` names them. */
export interface EndpointLanes {
  readonly paused: readonly string[];
  /** One attempt at a time: the endpoint fails, or never succeeded. */
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

/** Deletes old ended deliveries and those of unsubscribed endpoints. @returns their number. */
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
