import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { scopeOfMode, type Scope } from '../../domain/scope.js';
import { epochMs, fetchRow, fetchRows } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import {
  ListedDeliveries,
  type DeliveryFilter,
  type ListedDelivery,
} from '../../work-queue/listed-deliveries.js';
import { addWork, IS_FIRST } from '../../work-queue/work-items.js';
import {
  laneOf,
  lockEndpoints,
  WEBHOOKS,
  withPlace,
  type NewDelivery,
  type StoredPlace,
} from './delivery-rows.js';
import type { Attempt } from './ended-claims.js';

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface WebhookFilter extends DeliveryFilter {
  readonly id?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly state?: DeliveryState | undefined;
}

export type WebhookRow = ListedDelivery & {
  readonly webhookId: string;
  readonly endpointId: string;
  readonly state: DeliveryState;
};

export interface EndpointFigures {
  readonly endpointId: string;
  readonly failures: number;
  readonly lastSuccess: Date | null;
  readonly waiting: number;
  /** Failed tests do not count: their result was shown to the operator. */
  readonly dead: number;
  /** Why the newest attempt of what waits or failed has no 2xx: a reason, or a status. */
  readonly lastFailure: string | null;
}

export const WEBHOOK_LIST = new ListedDeliveries<WebhookFilter, WebhookRow>({
  table: 'ledger.webhook_deliveries',
  kind: WEBHOOKS,
  columns: sql`webhook_id as "webhookId", endpoint_id as "endpointId", state`,
  // What an operator sends skips the pause, as it skips the queue.
  dueAt: sql`case when ${IS_FIRST} then due_at else greatest(due_at, (
    select pause_until from ledger.webhook_endpoints e
    where (e.tenant, e.mode, e.endpoint_id) = (d.tenant, d.mode, d.endpoint_id))) end`,
  conditions(scope, { id, endpointId, state }) {
    const { tenant, mode } = scopeOfMode(scope);
    return [
      sql`tenant = ${tenant} and mode = ${mode}`,
      id === undefined ? undefined : sql`id = ${id}`,
      endpointId === undefined ? undefined : sql`endpoint_id = ${endpointId}`,
      state && sql`state = ${state}`,
    ];
  },
});

export async function storedDelivery(
  pool: Pool,
  scope: Scope,
  id: string,
): Promise<NewDelivery | undefined> {
  const { tenant, mode } = scopeOfMode(scope);
  const row = await fetchRow(
    pool,
    sql<StoredPlace & Omit<NewDelivery, 'event'>>`
      select id, tenant, mode, endpoint_id as "endpointId", webhook_id as "webhookId", type, subject,
        stream, revision, event_id as "eventId", ${epochMs(sql<Date>`created`)} as created
      from ledger.webhook_deliveries
      where id = ${id} and tenant = ${tenant} and mode = ${mode}`,
  );
  return row && withPlace(row);
}

/** `beginning` is encrypted with the keys of `people`. */
type StoredAttempt = Omit<Attempt, 'at' | 'retryAfterMs'> & { readonly at: Date };

/** Oldest first. */
export const attemptsOf = (pool: Pool, deliveryId: string): Promise<StoredAttempt[]> =>
  fetchRows(
    pool,
    sql<StoredAttempt>`
      select at, status, reason, ms, beginning, people from ledger.webhook_attempts
      where delivery_id = ${deliveryId} order by number`,
  );

export function endpointFigures(pool: Pool, scope: Scope): Promise<EndpointFigures[]> {
  const { tenant, mode } = scopeOfMode(scope);
  return fetchRows(
    pool,
    sql<EndpointFigures>`
      select e.endpoint_id as "endpointId", e.failures, e.last_success as "lastSuccess",
        count(d.id) filter (where d.state = 'PENDING')::integer as waiting,
        count(d.id) filter (where d.state = 'DEAD' and d.event_id is not null)::integer as dead,
        (select coalesce(a.reason, a.status::text) from (
            select f.id from ledger.webhook_deliveries f
            where f.tenant = e.tenant and f.mode = e.mode and f.endpoint_id = e.endpoint_id
              and f.state in ('PENDING', 'DEAD') and f.attempts > 0
            order by f.created desc limit 20) newest
          join ledger.webhook_attempts a on a.delivery_id = newest.id
          order by a.at desc limit 1) as "lastFailure"
      from ledger.webhook_endpoints e
      left join ledger.webhook_deliveries d on d.tenant = e.tenant and d.mode = e.mode
        and d.endpoint_id = e.endpoint_id and d.state in ('PENDING', 'DEAD')
      where e.tenant = ${tenant} and e.mode = ${mode}
      group by e.tenant, e.mode, e.endpoint_id`,
  );
}

/** One delivery, or all of an endpoint since a time. */
export type ResendSelection = { readonly endpointId: string } & (
  { readonly id: string } | { readonly since: Date }
);

const RESEND_BATCH = 1_000;
/** Per endpoint: new deliveries do not wait for all of them, and a repaired receiver copes. */
const RESEND_PER_SECOND = 50;

interface ResendCursor {
  readonly created: string;
  readonly id: string;
}

/**
 * Makes deliveries due again with new retries: a single one immediately, several oldest first at
 * `RESEND_PER_SECOND`, without tests. Running ones stay unchanged, and so do those from before the
 * endpoint's present subscription. @returns their number.
 */
export async function resend(pool: Pool, scope: Scope, which: ResendSelection): Promise<number> {
  // Deliveries end by the database's clock; text keeps its microseconds.
  const clock = await fetchRow(pool, sql<{ now: string }>`select now()::text as now`);
  if (clock === undefined) throw new Error('the database has no time');
  let resent = 0;
  let upTo: ResendCursor | undefined;
  for (;;) {
    const some = await inTransaction(pool, (client) =>
      resendBatch(client, scope, which, { began: clock.now, resent, upTo }),
    );
    resent += some.length;
    upTo = some.at(-1);
    if (some.length < RESEND_BATCH) return resent;
  }
}

/** Locks the endpoint first, so that it is not unsubscribed meanwhile. */
async function resendBatch(
  client: PoolClient,
  scope: Scope,
  which: ResendSelection,
  { began, resent, upTo }: { began: string; resent: number; upTo: ResendCursor | undefined },
): Promise<readonly ResendCursor[]> {
  const { tenant, mode } = scopeOfMode(scope);
  const { endpointId } = which;
  const selected =
    'id' in which
      ? sql`d.id = ${which.id}`
      : sql`d.created >= ${which.since} and d.event_id is not null`;
  const isBehind = upTo
    ? sql`(d.created, d.id) > (${upTo.created}::timestamptz, ${upTo.id}::uuid)`
    : sql`true`;
  await lockEndpoints(client, [{ tenant, mode, endpointId }]);
  const some = await fetchRows(
    client,
    sql<ResendCursor & { readonly dueAt: Date }>`
      with chosen as materialized (
        select d.id, d.created from ledger.webhook_deliveries d
        join ledger.webhook_endpoints e using (tenant, mode, endpoint_id)
        left join ledger.work_items w on w.kind = ${WEBHOOKS} and w.id = d.id::text
        where d.tenant = ${tenant} and d.mode = ${mode} and d.endpoint_id = ${endpointId}
          and e.state <> 'UNSUBSCRIBED' and d.created >= coalesce(e.subscribed_at, d.created)
          and ${selected} and ${isBehind} and w.claimed_by is null
          and (d.ended_at <= ${began}::timestamptz
            or d.ended_at is null and (${'id' in which} or w.due_at > ${began}::timestamptz))
        order by d.created, d.id limit ${RESEND_BATCH} for update of d skip locked
      ), again as (
        update ledger.webhook_deliveries d
        set state = 'PENDING', ended_at = null, attempts_before = attempts,
          retried_from = ${began}::timestamptz
        from chosen c where d.id = c.id
      ), due as (
        update ledger.webhook_endpoints set pause_until = null
        where tenant = ${tenant} and mode = ${mode} and endpoint_id = ${endpointId}
          and exists (select from chosen)
      )
      select created::text as created, id, ${began}::timestamptz
        + (${resent} + row_number() over (order by created, id) - 1)
          * interval '1 s' / ${RESEND_PER_SECOND} as "dueAt"
      from chosen order by chosen.created, id`,
  );
  const lane = laneOf({ mode, endpointId }, 'id' in which);
  const items = some.map(({ id, dueAt }) => ({
    kind: WEBHOOKS,
    id,
    tenant,
    lane,
    dueAt: dueAt.getTime(),
    payload: {},
  }));
  await addWork(client, items, 'replacement');
  return some;
}
