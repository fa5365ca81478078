import { sql, type RawBuilder } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import {
  compiledOnce,
  epochMs,
  fetchRow,
  fetchRows,
  run,
  type Connection,
  type Given,
} from '../../postgres/statements.js';
import { inTransactionThatMayBeLost } from '../../postgres/transaction.js';
import { nameOf, type EndpointName, type NewDelivery } from './delivery-rows.js';
import { FAILING_FROM, type Retried } from './retry-times.js';

/** Deliveries that are due, claimed for an attempt. */

/**
 * At once to one endpoint, by all processes. To a failing one, and to one that never answered well,
 * it is one.
 */
const AT_ONCE_PER_ENDPOINT = 10;
/** A process that claimed a delivery and died leaves it to others behind this time. */
export const LEASE_MS = 30_000;
const LEASE = `${LEASE_MS} ms`;

/** A delivery that this process is to send. */
export interface ClaimedDelivery extends NewDelivery {
  /** Made so far. */
  readonly attempts: number;
  /** With the attempt that it is claimed for. */
  readonly retried: Retried;
  /** Names the claim. */
  readonly leasedUntil: string;
}

/** What is claimed at most. */
export interface Room {
  readonly deliveries: number;
  /** Tenants that have as many attempts under way as they may have. */
  readonly fullTenants: readonly string[];
  /** Takes a further place for a tenant; false: it may have no more. */
  readonly take: (tenant: string) => boolean;
}

interface DueRow extends Omit<ClaimedDelivery, 'event' | 'retried'> {
  readonly stream: string | null;
  readonly revision: bigint | null;
  readonly eventId: string | null;
  readonly attemptsBefore: number;
  readonly retriedForMs: number;
}

/**
 * Claims due deliveries, of the endpoints that have waited longest. Of an endpoint one process
 * claims at a time. Rows of endpoints are locked before those of their deliveries, here and where
 * attempts are recorded.
 * @throws while the database is unavailable.
 */
export async function claimDue(pool: Pool, room: Room): Promise<readonly ClaimedDelivery[]> {
  // A claim that a crash undoes is made again: the delivery is sent once more.
  return inTransactionThatMayBeLost(pool, async (client) => {
    const endpoints = await dueEndpoints(client, room);
    if (endpoints.length === 0) return [];
    const shares = sharesOf(endpoints, room);
    const rows = await lease(client, shares);
    await lookAgain(client, shares, rows);
    const heldMs = new Map(shares.map((share) => [nameOf(share), share.heldMs]));
    return rows.map((row) => claimedOf(row, heldMs.get(nameOf(row)) ?? null));
  });
}

/** Whether there may be something to claim: to ask costs less than an empty claim. */
export async function isAnyDue(db: Connection): Promise<boolean> {
  const row = await fetchRow(db, IS_DUE({}));
  return row?.isDue ?? false;
}

const IS_DUE = compiledOnce(
  'webhook_endpoints.is_due',
  () => sql<{ isDue: boolean }>`
    select exists (
      select from ledger.webhook_endpoints
      where state = 'ACTIVE' and due_at <= now() and (pause_until is null or pause_until <= now())
    ) as "isDue"`,
);

interface DueEndpoint extends EndpointName {
  /** How many further ones may be under way to it. */
  readonly places: number;
  /** Since it was held back, milliseconds; null: it never was. */
  readonly heldMs: number | null;
}

/** What is claimed of an endpoint, at most. */
interface Share extends DueEndpoint {
  readonly take: number;
}

function dueEndpoints(client: PoolClient, room: Room): Promise<DueEndpoint[]> {
  const { fullTenants, deliveries: limit } = room;
  return fetchRows(client, DUE_ENDPOINTS({ fullTenants, limit }));
}

/** From then until now, milliseconds. */
const sinceMs = (then: RawBuilder<unknown>) =>
  sql<number>`(extract(epoch from now() - ${then}) * 1000)::double precision`;

interface DueIn {
  readonly fullTenants: readonly string[];
  readonly limit: number;
}

const DUE_ENDPOINTS = compiledOnce(
  'webhook_endpoints.due',
  ({ fullTenants, limit }: Given<DueIn>) => sql<DueEndpoint>`
    with due as materialized (
      select tenant, mode, endpoint_id, failures, last_success, due_at, held_until
      from ledger.webhook_endpoints
      where state = 'ACTIVE' and due_at <= now()
        and (pause_until is null or pause_until <= now())
        and tenant <> all(${fullTenants}::text[])
      order by due_at limit ${limit}
      for update skip locked
    )
    select tenant, mode, endpoint_id as "endpointId", (
        case when failures >= ${FAILING_FROM} or last_success is null then 1
          else ${AT_ONCE_PER_ENDPOINT} end - (
          select count(*) from ledger.webhook_deliveries d
          where d.tenant = due.tenant and d.mode = due.mode and d.endpoint_id = due.endpoint_id
            and leased_until > now()
        )
      )::integer as places, ${sinceMs(sql`held_until`)} as "heldMs"
    from due order by due_at`,
);

/** The room is shared out in their order. */
function sharesOf(endpoints: readonly DueEndpoint[], room: Room): readonly Share[] {
  let left = room.deliveries;
  return endpoints.map((endpoint) => {
    const { tenant, places } = endpoint;
    let take = 0;
    for (; take < places && left > 0 && room.take(tenant); left -= 1) take += 1;
    return { ...endpoint, take };
  });
}

async function lease(client: PoolClient, shares: readonly Share[]): Promise<readonly DueRow[]> {
  const due = await fetchRows(client, DUE_IDS({ shares: JSON.stringify(shares) }));
  if (due.length === 0) return [];
  return fetchRows(client, LEASED({ ids: due.map(({ id }) => id) }));
}

/** As rows of a statement. */
const rowsOf = (shares: RawBuilder<string>) =>
  sql`jsonb_to_recordset(${shares}::jsonb) as g (
    tenant text, mode text, "endpointId" text, take integer, "isEmpty" boolean, "isShort" boolean
  )`;

const DUE_IDS = compiledOnce(
  'webhook_deliveries.due',
  ({ shares }: Given<{ shares: string }>) => sql<{ id: string }>`
    select d.id from ${rowsOf(shares)} cross join lateral (
      select id from ledger.webhook_deliveries
      where tenant = g.tenant and mode = g.mode and endpoint_id = g."endpointId"
        and state = 'PENDING' and next_attempt_at <= now()
      order by next_attempt_at limit g.take
      for update skip locked
    ) d`,
);

// By an array, so that the planner knows how few they are.
const LEASED = compiledOnce(
  'webhook_deliveries.lease',
  ({ ids }: Given<{ ids: readonly string[] }>) => sql<DueRow>`
    update ledger.webhook_deliveries
    set leased_until = now() + ${LEASE}::interval, next_attempt_at = now() + ${LEASE}::interval
    where id = any(${ids}::uuid[])
    returning id, tenant, mode, endpoint_id as "endpointId", webhook_id as "webhookId", type,
      subject, stream, revision, event_id as "eventId", ${epochMs(sql<Date>`created`)} as created,
      attempts, attempts_before as "attemptsBefore",
      case when attempts = attempts_before then 0
        else ${sinceMs(sql`coalesce(retried_from, created)`)} end as "retriedForMs",
      leased_until::text as "leasedUntil"`,
);

/**
 * Those that find no place are full: they are looked at when one of those under way has ended, or
 * when its claim lapses. Counted from now, each announcement would put that off.
 */
async function lookAgain(
  client: PoolClient,
  shares: readonly Share[],
  rows: readonly DueRow[],
): Promise<void> {
  const taken = new Map<string, number>();
  for (const row of rows) taken.set(nameOf(row), (taken.get(nameOf(row)) ?? 0) + 1);
  // One that the room did not suffice for stays the one that has waited longest.
  const looked = shares
    .filter(({ take, places }) => take > 0 || places <= 0)
    .map((share) => ({
      ...share,
      isEmpty: (taken.get(nameOf(share)) ?? 0) < share.take,
      isShort: share.take < share.places,
    }));
  await run(client, LOOKED_AT({ shares: JSON.stringify(looked) }));
}

const LOOKED_AT = compiledOnce(
  'webhook_endpoints.looked_at',
  ({ shares }: Given<{ shares: string }>) => sql`
    update ledger.webhook_endpoints e
    set due_at = case when g."isEmpty" then (
        select min(next_attempt_at) from ledger.webhook_deliveries d
        where d.tenant = g.tenant and d.mode = g.mode and d.endpoint_id = g."endpointId"
          and d.state = 'PENDING'
      ) when g."isShort" then now() else first.lapses end,
      full_until = case when g."isEmpty" or g."isShort" then null else first.lapses end
    from ${rowsOf(shares)} cross join lateral (
      select coalesce(min(leased_until), now()) as lapses from ledger.webhook_deliveries d
      where d.tenant = g.tenant and d.mode = g.mode and d.endpoint_id = g."endpointId"
        and d.leased_until > now()
    ) first
    where e.tenant = g.tenant and e.mode = g.mode and e.endpoint_id = g."endpointId"`,
);

const claimedOf = (
  { stream, revision, eventId, attemptsBefore, retriedForMs, ...row }: DueRow,
  heldMs: number | null,
): ClaimedDelivery => ({
  ...row,
  event:
    stream === null || revision === null || eventId === null ? null : { stream, revision, eventId },
  retried: {
    attempts: row.attempts - attemptsBefore + 1,
    forMs: Math.max(0, Math.min(retriedForMs, heldMs ?? Infinity)),
  },
});

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
          and (d.event_id is not null or d.next_attempt_at < now() - interval '1 day')
        limit ${limit}
      )`,
  );
  return ended + gone;
}
