import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { SubjectId } from '../../domain/personal.js';
import { compiledOnce, run, type Given } from '../../postgres/statements.js';
import { inTransactionThatMayBeLost } from '../../postgres/transaction.js';
import { lockEndpoints, nameOf, type EndpointName } from './delivery-rows.js';
import type { DueDelivery } from './due-deliveries.js';
import { FAILING_FROM, PROBE_SECONDS_MAX, RETRIED_FOR_MS, retryInMs } from './retry-times.js';

/** What became of claimed deliveries. */

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
  /** Whom the delivery named. */
  readonly people: readonly SubjectId[];
}

/** An attempt that ended well, or the way of a failed one. */
export type AttemptOutcome = 'delivered' | 'failed' | 'gone';

/** Of an answer: 2xx is success, 410 asks for no more; null: there was none. */
export const outcomeOf = (status: number | null): AttemptOutcome =>
  status === null || status < 200 || status > 299
    ? status === 410
      ? 'gone'
      : 'failed'
    : 'delivered';

/** For how long, in milliseconds, and whether its endpoint is left alone as well. */
export interface Postponed {
  readonly notFor: number;
  readonly endpoint: boolean;
}

/** What became of a claim. */
export type EndedClaim = { readonly delivery: DueDelivery } & (
  | { readonly kind: 'attempted'; readonly attempt: Attempt }
  /** About nothing any more (forgotten, lost, unsubscribed): it leaves no trace. */
  | { readonly kind: 'dropped' }
  /** Not now, and no attempt. */
  | { readonly kind: 'postponed'; readonly postponed: Postponed }
);

/** With when it is sent next, as `nextInMs`. */
export type RecordedClaim = EndedClaim & { readonly next: number | null };

/**
 * Records what became of claims: of an attempt what it came to, when the next one is, and how the
 * endpoint does. A claim that has lapsed and was taken by another process changes nothing more, but
 * for a success.
 * @param ended in their order; of a delivery one.
 */
export async function recordEnded(pool: Pool, ended: readonly RecordedClaim[]): Promise<void> {
  const endpoints = endpointsAfter(ended);
  // An outcome that a crash undoes is found out again: the delivery is sent once more.
  await inTransactionThatMayBeLost(pool, async (client) => {
    await lockEndpoints(client, endpoints);
    await storeDeliveries(client, ended);
    await storeEndpoints(client, endpoints);
    if (endpoints.some(({ failures }) => failures > 0)) await giveUp(client, endpoints);
  });
}

function storeDeliveries(client: PoolClient, ended: readonly RecordedClaim[]): Promise<number> {
  const ids = ended.map(({ delivery }) => delivery.id);
  return run(client, ENDED({ ids, rows: JSON.stringify(ended.map(rowOf)) }));
}

// The planner knows how many are in an array.
const ENDED = compiledOnce(
  'webhook_deliveries.ended',
  ({ ids, rows }: Given<{ ids: readonly string[]; rows: string }>) => sql`
    with given as materialized (
      select * from jsonb_to_recordset(${rows}::jsonb) as given (
        id uuid, kind text, attempts integer, state text, at timestamptz, status integer,
        reason text, ms integer, beginning text, people text[]
      )
    ), recorded as (
      update ledger.webhook_deliveries d
      set attempts = d.attempts + 1, state = g.state,
        retried_from = case when d.attempts = attempts_before then now() else retried_from end,
        ended_at = case when g.state = 'PENDING' then null else now() end
      from given g
      where d.id = any(${ids}::uuid[]) and d.id = g.id and g.kind = 'attempted'
        and d.state <> 'DELIVERED'
        and (g.state = 'DELIVERED' or (d.state = 'PENDING' and d.attempts = g.attempts))
      returning d.id, d.attempts
    ), attempts as (
      insert into ledger.webhook_attempts (
        delivery_id, number, at, status, reason, ms, beginning, people
      )
      select id, r.attempts, at, status, reason, ms, decode(beginning, 'base64'), people
      from recorded r join given using (id) on conflict do nothing
    )
    delete from ledger.webhook_deliveries d using given g
    where d.id = any(${ids}::uuid[]) and d.id = g.id and g.kind = 'dropped'`,
);

/** When a delivery is sent next, milliseconds; null: never. */
export function nextInMs(ended: EndedClaim): number | null {
  if (ended.kind === 'dropped') return null;
  if (ended.kind === 'postponed') return ended.postponed.notFor;
  const { status, retryAfterMs } = ended.attempt;
  return outcomeOf(status) === 'failed' ? retryInMs(ended.delivery.retried, retryAfterMs) : null;
}

/** @param next as `nextInMs`. */
function rowOf({ next, ...ended }: RecordedClaim): Readonly<Record<string, unknown>> {
  const { id, attempts } = ended.delivery;
  const claim = { id, kind: ended.kind, attempts };
  if (ended.kind !== 'attempted') return claim;
  const { at, ms, status, reason, beginning, people } = ended.attempt;
  const isDelivered = outcomeOf(status) === 'delivered';
  return {
    ...claim,
    state: isDelivered ? 'DELIVERED' : next === null ? 'DEAD' : 'PENDING',
    at: new Date(at).toISOString(),
    status,
    reason,
    ms,
    beginning: beginning?.toString('base64') ?? null,
    people,
  };
}

/** How an endpoint does after all that ended. */
interface EndpointAfter extends EndpointName {
  /** One was delivered; `failures` counts from the last of these on. */
  isDelivered: boolean;
  failures: number;
  /** By the last one. `as-before`: those that are dropped say nothing. */
  pause: 'as-before' | 'by-failures' | 'postponed';
  pauseMs: number;
}

function endpointsAfter(ended: readonly EndedClaim[]): readonly EndpointAfter[] {
  const after = new Map<string, EndpointAfter>();
  for (const one of ended) {
    const endpoint = after.get(nameOf(one.delivery)) ?? unchanged(one.delivery);
    after.set(nameOf(endpoint), endpoint);
    note(endpoint, one);
  }
  return [...after.values()];
}

const unchanged = ({ tenant, mode, endpointId }: EndpointName): EndpointAfter => ({
  tenant,
  mode,
  endpointId,
  isDelivered: false,
  failures: 0,
  pause: 'as-before',
  pauseMs: 0,
});

function note(endpoint: EndpointAfter, ended: EndedClaim): void {
  switch (ended.kind) {
    case 'dropped':
      return;
    case 'postponed':
      if (!ended.postponed.endpoint) return;
      endpoint.pause = 'postponed';
      endpoint.pauseMs = ended.postponed.notFor;
      return;
    case 'attempted': {
      const isDelivered = outcomeOf(ended.attempt.status) === 'delivered';
      endpoint.pause = 'by-failures';
      endpoint.isDelivered ||= isDelivered;
      endpoint.failures = isDelivered ? 0 : endpoint.failures + 1;
    }
  }
}

function storeEndpoints(client: PoolClient, endpoints: readonly EndpointAfter[]): Promise<number> {
  return run(client, ENDPOINTS_AFTER({ endpoints: JSON.stringify(endpoints) }));
}

const ENDPOINTS_AFTER = compiledOnce(
  'webhook_endpoints.after',
  ({ endpoints }: Given<{ endpoints: string }>) => sql`
    with given as (
      select g.*, g.failures + case when g."isDelivered" then 0 else e.failures end as total
      from jsonb_to_recordset(${endpoints}::jsonb) as g (
        tenant text, mode text, "endpointId" text, "isDelivered" boolean, failures integer,
        pause text, "pauseMs" double precision
      ) join ledger.webhook_endpoints e
        on e.tenant = g.tenant and e.mode = g.mode and e.endpoint_id = g."endpointId"
    )
    update ledger.webhook_endpoints e
    set failures = g.total,
      pause_until = case when g.pause = 'as-before' then pause_until
        when g.pause = 'postponed' then now() + g."pauseMs" * interval '1 millisecond'
        when g.total < ${FAILING_FROM} then null
        else now() + least(${PROBE_SECONDS_MAX}, power(2, least(g.total - ${FAILING_FROM}, 10)))
          * interval '1 s' end,
      held_until = case when g.pause = 'postponed'
        then now() + g."pauseMs" * interval '1 millisecond' else held_until end,
      failing_since = case when g.total = 0 then null
        when g."isDelivered" then now() else coalesce(failing_since, now()) end,
      last_success = case when g."isDelivered" then now() else last_success end
    from given g
    where e.tenant = g.tenant and e.mode = g.mode and e.endpoint_id = g."endpointId"`,
);

/** Of an endpoint, at once. */
const GIVEN_UP_AT_ONCE = 1_000;

/**
 * What has waited for as long as a delivery is retried ends where nothing was delivered in that
 * time, attempted or not: a failing endpoint is probed by one at a time, and more than it could
 * ever be asked to take would wait for ever.
 */
function giveUp(client: PoolClient, endpoints: readonly EndpointName[]): Promise<number> {
  const names = endpoints.map(({ tenant, mode, endpointId }) => ({ tenant, mode, endpointId }));
  return run(client, GIVEN_UP({ names: JSON.stringify(names) }));
}

const WAITED = sql`now() - ${`${RETRIED_FOR_MS} ms`}::interval`;

const GIVEN_UP = compiledOnce(
  'webhook_deliveries.given_up',
  ({ names }: Given<{ names: string }>) => sql`
    update ledger.webhook_deliveries
    set state = 'DEAD', ended_at = now()
    where id in (
      select d.id
      from jsonb_to_recordset(${names}::jsonb) as named (
        tenant text, mode text, "endpointId" text
      ) join ledger.webhook_endpoints e on e.tenant = named.tenant and e.mode = named.mode
        and e.endpoint_id = named."endpointId" and e.failing_since < ${WAITED}
        and (e.held_until is null or e.held_until < ${WAITED})
      cross join lateral (
        select id, created, retried_from from ledger.webhook_deliveries
        where tenant = e.tenant and mode = e.mode and endpoint_id = e.endpoint_id
          and state = 'PENDING'
        order by created limit ${GIVEN_UP_AT_ONCE} for update skip locked
      ) d
      where greatest(d.created, d.retried_from) < ${WAITED}
    )`,
);
