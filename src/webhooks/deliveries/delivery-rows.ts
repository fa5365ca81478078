import { sql, type RawBuilder } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Mode } from '../../domain/scope.js';
import type { Position } from '../../event-log/event-log.js';
import type { EventPlace } from '../../event-log/event-pages.js';
import { beginCheckpoint, moveCheckpoint } from '../../following/checkpoints.js';
import type { TrailPoint } from '../../following/trail.js';
import {
  compiledOnce,
  fetchRow,
  fetchRows,
  run,
  type Connection,
  type Given,
} from '../../postgres/statements.js';
import { inTransaction, inAsynchronousTransaction } from '../../postgres/transaction.js';
import { WEBHOOKS_HANDLER } from '../../reacting/parked-reactions.js';
import { parking } from '../../reacting/postgres-parked-reactions.js';
import { FIRST } from '../../work-queue/work-items.js';
import type { WebhookType } from '../payloads/announced.js';

export type EndpointState = 'ACTIVE' | 'DISABLED' | 'UNSUBSCRIBED' | 'UNKNOWN';

export interface EndpointName {
  readonly tenant: string;
  readonly mode: Mode;
  readonly endpointId: string;
}

/** An endpoint after an event of its tenant. */
export interface EndpointChange extends EndpointName {
  readonly state: EndpointState;
  readonly position: Position | null;
  /** Epoch milliseconds, of a subscription; undefined: another change. */
  readonly subscribedAt?: number | undefined;
}

export interface NewDelivery extends EndpointName {
  readonly id: string;
  readonly webhookId: string;
  readonly type: WebhookType;
  readonly subject: Readonly<Record<string, string>>;
  /** Null: a test. */
  readonly event: EventPlace | null;
  /** Time of the recording, epoch milliseconds. */
  readonly created: number;
}

/** The columns of a delivery's event. */
export interface StoredPlace {
  readonly stream: string | null;
  readonly revision: bigint | null;
  readonly eventId: string | null;
}

export const withPlace = <R extends StoredPlace>({ stream, revision, eventId, ...row }: R) => ({
  ...row,
  event:
    stream === null || revision === null || eventId === null ? null : { stream, revision, eventId },
});

export interface UnreadEvent extends EventPlace {
  readonly position: Position;
  readonly reason: string;
}

/** The changes of one page of the log, or of a retry of parked events. */
export interface FollowedPage {
  /** Undefined: the checkpoint stays. */
  readonly point?: TrailPoint;
  /** Undefined: the stored trail stays. */
  readonly trail?: readonly TrailPoint[] | undefined;
  readonly endpoints?: readonly EndpointChange[];
  readonly deliveries?: readonly NewDelivery[];
  readonly unread?: readonly UnreadEvent[];
  /** Id of a parked event that could be read now. */
  readonly read?: string;
}

/** Stores the first checkpoint with the endpoints, unless a checkpoint exists. */
export async function createWebhookCheckpoint(
  pool: Pool,
  position: Position | null,
  endpoints: readonly EndpointChange[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const isBegun = await beginCheckpoint(client, WEBHOOKS_HANDLER, position);
    if (isBegun && endpoints.length > 0) await putEndpoints(client, endpoints);
  });
}

/**
 * Marks endpoints as unknown that changed after a position to which the handler returns.
 * @param isBehind whether a position is after it, or not in the log.
 */
export async function forgetEndpointsBehind(
  client: PoolClient,
  isBehind: (changed: Position) => boolean,
): Promise<void> {
  const known = await fetchRows(
    client,
    sql<{ position: string }>`
      select distinct changed_position as position from ledger.webhook_endpoints
      where changed_position is not null`,
  );
  const lost = known.map(({ position }) => position).filter(isBehind);
  await run(
    client,
    sql`
      update ledger.webhook_endpoints set state = 'UNKNOWN'
      where changed_position = any(${lost}::text[])`,
  );
}

/**
 * Stores rows and checkpoint in one transaction. @returns the new version.
 * @throws {CheckpointMoved} also for a late call, after another write.
 */
export async function storePage(
  pool: Pool,
  version: bigint,
  { point, trail, endpoints = [], deliveries = [], unread = [], read }: FollowedPage,
): Promise<bigint> {
  // A crash that undoes the rows also undoes the checkpoint: the page is read again.
  return inAsynchronousTransaction(pool, async (client) => {
    const next = await moveCheckpoint(
      client,
      WEBHOOKS_HANDLER,
      version,
      point && { ...point, trail },
    );
    if (endpoints.length > 0) {
      await lockEndpoints(client, [...endpoints, ...deliveries]);
      for (const change of endpoints)
        if (change.state === 'UNSUBSCRIBED') await dropWaiting(client, change, sql`true`);
      // One by one: an unsubscription between two subscriptions drops what waits.
      for (const change of endpoints) await putEndpoints(client, [change]);
    }
    if (deliveries.length > 0) await putDeliveries(client, deliveries);
    if (read !== undefined)
      await run(
        client,
        sql`
          delete from ledger.parked_reactions
          where event_id = ${read} and policy = ${WEBHOOKS_HANDLER}`,
      );
    for (const { eventId: id, reason, ...event } of unread)
      await run(client, parking({ policy: WEBHOOKS_HANDLER, event: { id, ...event }, reason }));
    return next;
  });
}

/** Deletes waiting deliveries. Tests stay: the sender checks to which subscription they belong. */
const dropWaiting = (
  db: Pool | PoolClient,
  { tenant, mode, endpointId }: EndpointName,
  which: RawBuilder<unknown>,
): Promise<number> =>
  run(
    db,
    sql`
      delete from ledger.webhook_deliveries
      where tenant = ${tenant} and mode = ${mode} and endpoint_id = ${endpointId}
        and state = 'PENDING' and event_id is not null and ${which}`,
  );

/** Stores endpoints, and deletes waiting deliveries from before a new subscription. */
export async function putEndpoints(
  db: Pool | PoolClient,
  changes: readonly EndpointChange[],
): Promise<void> {
  const last = [...new Map(changes.map((change) => [nameOf(change), change])).values()];
  const rows = last.map(({ subscribedAt, ...change }) => ({
    ...change,
    subscribedAt: subscribedAt === undefined ? null : new Date(subscribedAt),
  }));
  // Renaming an endpoint does not reset its failures.
  const isRenamed = sql`e.state = 'ACTIVE' and excluded.state = 'ACTIVE'`;
  await run(
    db,
    sql`
      insert into ledger.webhook_endpoints as e (
        tenant, mode, endpoint_id, state, changed_position, subscribed_at
      )
      select tenant, mode, "endpointId", state, position, "subscribedAt"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (
        tenant text, mode text, "endpointId" text, state text, position text,
        "subscribedAt" timestamptz
      )
      on conflict (tenant, mode, endpoint_id) do update
      set state = excluded.state, changed_position = excluded.changed_position,
        changed_at = now(),
        subscribed_at = case when e.state in ('ACTIVE', 'DISABLED') then e.subscribed_at
          else coalesce(excluded.subscribed_at, e.subscribed_at) end,
        failures = case when ${isRenamed} then e.failures else 0 end,
        pause_until = case when ${isRenamed} then e.pause_until end,
        failing_since = case when ${isRenamed} then e.failing_since end,
        -- Deliveries that waited while it was disabled have their full retry time.
        held_until = case when e.state = 'DISABLED' and excluded.state = 'ACTIVE' then now()
          else e.held_until end`,
  );
  for (const change of last) await dropBefore(db, change);
}

async function dropBefore(db: Pool | PoolClient, begun: EndpointChange): Promise<void> {
  const { tenant, mode, endpointId, state, subscribedAt } = begun;
  if (state !== 'ACTIVE' || subscribedAt === undefined) return;
  const since = new Date(subscribedAt);
  const isBefore = sql`created < ${since} and exists (
    select from ledger.webhook_endpoints e
    where e.tenant = ${tenant} and e.mode = ${mode} and e.endpoint_id = ${endpointId}
      and e.subscribed_at = ${since})`;
  await dropWaiting(db, begun, isBefore);
}

/** Locks endpoints in one order, before the rows of deliveries, so that writers never deadlock. */
export async function lockEndpoints(
  client: PoolClient,
  endpoints: readonly EndpointName[],
): Promise<void> {
  const names = endpoints.map(({ tenant, mode, endpointId }) => ({ tenant, mode, endpointId }));
  await run(client, LOCK_ENDPOINTS({ names: JSON.stringify(names) }));
}

const LOCK_ENDPOINTS = compiledOnce(
  'webhook_endpoints.lock',
  ({ names }: Given<{ names: string }>) => sql`
    select from ledger.webhook_endpoints
    where (tenant, mode, endpoint_id) in (
      select tenant, mode, "endpointId"
      from jsonb_to_recordset(${names}::jsonb) as named (tenant text, mode text, "endpointId" text)
    )
    order by tenant, mode, endpoint_id for update`,
);

/** Work kind of webhooks; each endpoint has a lane. */
export const WEBHOOKS = 'webhook';

export const laneOf = (
  { mode, endpointId }: Pick<EndpointName, 'mode' | 'endpointId'>,
  isFirst = false,
): string => `${mode} ${endpointId}${isFirst ? FIRST : ''}`;

/** Existing rows stay unchanged. */
export async function putDeliveries(
  db: Pool | PoolClient,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const rows = deliveries.map(({ id, webhookId, type, subject, event, created, ...of }) => ({
    id,
    tenant: of.tenant,
    mode: of.mode,
    endpoint_id: of.endpointId,
    webhook_id: webhookId,
    type,
    subject,
    stream: event?.stream ?? null,
    revision: event === null ? null : String(event.revision),
    event_id: event?.eventId ?? null,
    created: new Date(created).toISOString(),
  }));
  await run(db, PUT_DELIVERIES({ rows: JSON.stringify(rows) }));
}

// A test uses the second lane, so it does not wait for other deliveries.
const PUT_DELIVERIES = compiledOnce(
  'webhook_deliveries.put',
  ({ rows }: Given<{ rows: string }>) => sql`
    with given as (
      select * from jsonb_to_recordset(${rows}::jsonb) as given (
        id uuid, tenant text, mode text, endpoint_id text, webhook_id uuid, type text,
        subject jsonb, stream text, revision bigint, event_id uuid, created timestamptz
      )
    ), put as (
      insert into ledger.webhook_deliveries (
        id, tenant, mode, endpoint_id, webhook_id, type, subject, stream, revision, event_id,
        created
      )
      select * from given
      on conflict do nothing
      returning id, tenant, mode, endpoint_id, event_id
    )
    insert into ledger.work_items (kind, id, tenant, lane, due_at, waiting_since)
    select ${WEBHOOKS}, id::text, tenant, mode || ' ' || endpoint_id
      || case when event_id is null then ${FIRST} else '' end, now(), now()
    from put
    on conflict do nothing`,
);

export async function endpointsInState(
  db: Pool | PoolClient,
  states: readonly EndpointState[],
): Promise<readonly (EndpointName & { readonly state: EndpointState })[]> {
  return fetchRows(
    db,
    sql<EndpointName & { readonly state: EndpointState }>`
      select tenant, mode, endpoint_id as "endpointId", state from ledger.webhook_endpoints
      where state = any(${states}::text[])`,
  );
}

export const nameOf = ({ tenant, mode, endpointId }: EndpointName): string =>
  `${tenant} ${mode} ${endpointId}`;

/** Parked events, oldest first. */
export async function unreadEvents(
  db: Pool | PoolClient,
  limit: number,
): Promise<readonly UnreadEvent[]> {
  return fetchRows(
    db,
    sql<UnreadEvent>`
      select event_id as "eventId", stream, revision, position, reason
      from ledger.parked_reactions where policy = ${WEBHOOKS_HANDLER} order by id limit ${limit}`,
  );
}

/** Waiting deliveries are counted up to this number. */
export const WAITING_MAX = 100_000;

/** Deliveries of a tenant with this many running attempts wait for each other. */
const BUSY_TENANT = 16;

/** Excludes disabled endpoints: their deliveries are sent after the endpoint is enabled. */
const IS_TO_BE_SENT = sql<boolean>`state = 'PENDING'
  and (tenant, mode, endpoint_id) not in (
    select tenant, mode, endpoint_id from ledger.webhook_endpoints where state = 'DISABLED'
  )`;

export interface WaitingDeliveries {
  /** Up to `WAITING_MAX`. */
  readonly waiting: number;
  /** Creation of the oldest, epoch milliseconds. */
  readonly oldest: number | undefined;
  /** Age of the oldest one that no worker took, of endpoints and tenants that are not busy. */
  readonly unsentSeconds: number;
}

export async function waitingDeliveries(db: Pool | PoolClient): Promise<WaitingDeliveries> {
  const row = await fetchRow(
    db,
    sql<{ waiting: number; oldest: Date | null; unsentSeconds: number | null }>`
      select (
        select count(*)::integer from (
          select from ledger.webhook_deliveries where ${IS_TO_BE_SENT} limit ${WAITING_MAX}
        ) counted
      ) as waiting, (
        select created from ledger.webhook_deliveries where ${IS_TO_BE_SENT}
        order by created limit 1
      ) as oldest, (
        select extract(epoch from now() - min(greatest(w.due_at, e.pause_until)))::double precision
        from (
          select tenant, lane, min(due_at) as due_at from ledger.work_items
          where kind = ${WEBHOOKS} and claimed_by is null and due_at <= now()
          group by tenant, lane
        ) w
        join ledger.webhook_endpoints e
          on e.tenant = w.tenant and w.lane in (e.mode || ' ' || e.endpoint_id,
            e.mode || ' ' || e.endpoint_id || ${FIRST})
        where e.state = 'ACTIVE' and (e.pause_until is null or e.pause_until <= now())
          and not exists (
            select from ledger.work_items busy
            where busy.kind = ${WEBHOOKS} and busy.tenant = w.tenant and busy.lane = w.lane
              and busy.claimed_by is not null
          ) and (
            select count(*) from ledger.work_items busy
            where busy.kind = ${WEBHOOKS} and busy.tenant = w.tenant and busy.claimed_by is not null
          ) < ${BUSY_TENANT}
      ) as "unsentSeconds"`,
  );
  return {
    waiting: row?.waiting ?? 0,
    oldest: row?.oldest?.getTime(),
    unsentSeconds: row?.unsentSeconds ?? 0,
  };
}

/**
 * Deletes deliveries of a tenant's test mode from before its test data were removed: by time, and
 * by the number of their ledger, because one may arrive late.
 * @param since epoch milliseconds. @param ledger number of the new ledger.
 */
export async function removeTestDeliveries(
  db: Connection,
  tenant: string,
  { since, ledger }: { readonly since: number; readonly ledger: number },
): Promise<void> {
  await run(
    db,
    sql`
      with gone as (
        delete from ledger.webhook_deliveries
        where tenant = ${tenant} and mode = 'test' and (
          created <= ${new Date(since)} or (
            stream ~ '^referral-[a-z]+-test[.-]' and stream not like 'referral-theme-%'
            and coalesce(substring(stream from '^referral-[a-z]+-test-([0-9]+)[.]')::bigint, 0) < ${ledger}
          )
        ) returning id
      )
      delete from ledger.work_items
      where kind = ${WEBHOOKS} and id in (select id::text from gone)`,
  );
}
