import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { SubjectId } from '../../domain/personal.js';
import { compiledOnce, run, type Given } from '../../postgres/statements.js';
import { inAsynchronousTransaction } from '../../postgres/transaction.js';
import { lockEndpoints, nameOf, type EndpointName } from './delivery-rows.js';
import type { PostResult } from '../sending/webhook-post.js';
import type { DueDelivery } from './due-deliveries.js';
import type { ReceiverAnswers } from './receiver-answers.js';
import { FAILING_FROM, PROBE_SECONDS_MAX, RETRIED_FOR_MS, retryInMs } from './retry-times.js';

export interface Attempt {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly ms: number;
  /** Null: no answer, with the reason in `reason`. */
  readonly status: number | null;
  readonly reason: string | null;
  readonly retryAfterMs: number | null;
  /** The encrypted beginning of the answer. */
  readonly beginning: Buffer | null;
  /** People in the delivery. */
  readonly people: readonly SubjectId[];
}

/** Encrypts the beginning of the answer. @throws when keys cannot be read. */
export async function attemptOf(
  posted: PostResult,
  answers: Pick<ReceiverAnswers, 'seal'>,
  deliveryId: string,
  people: readonly SubjectId[],
): Promise<Omit<Attempt, 'at'>> {
  const ms = Math.round(posted.ms);
  if (posted.kind === 'failed') {
    const { reason } = posted;
    return { ms, status: null, reason, retryAfterMs: null, beginning: null, people };
  }
  const { status, retryAfterMs } = posted;
  const beginning = await answers.seal(posted.beginning, deliveryId, people);
  return { ms, status, reason: null, retryAfterMs, beginning, people };
}

export type AttemptOutcome = 'delivered' | 'failed' | 'gone';

/** 2xx is delivered, 410 is gone; null: no answer. */
export const outcomeOf = (status: number | null): AttemptOutcome =>
  status === null || status < 200 || status > 299
    ? status === 410
      ? 'gone'
      : 'failed'
    : 'delivered';

export interface Postponement {
  readonly delayMs: number;
  readonly endpoint: boolean;
}

export type EndedClaim = { readonly delivery: DueDelivery } & (
  | { readonly kind: 'attempted'; readonly attempt: Attempt }
  /** Forgotten, lost or unsubscribed: the row is deleted. */
  | { readonly kind: 'dropped' }
  /** Delayed without an attempt. */
  | { readonly kind: 'postponed'; readonly postponed: Postponement }
);

/** `next`: as `nextInMs`. */
export type RecordedClaim = EndedClaim & { readonly next: number | null };

/**
 * Records the results of claims with the next attempt and the state of the endpoint. Of a claim
 * that lapsed and was taken by another process only a success counts.
 * @param ended in their order, one per delivery.
 */
export async function recordEnded(pool: Pool, ended: readonly RecordedClaim[]): Promise<void> {
  const endpoints = endpointOutcomes(ended);
  // After a crash without commit the delivery is sent again.
  await inAsynchronousTransaction(pool, async (client) => {
    await lockEndpoints(client, endpoints);
    await storeDeliveries(client, ended);
    await storeEndpoints(client, endpoints);
    if (endpoints.some(({ failures }) => failures > 0)) await endExpired(client, endpoints);
  });
}

function storeDeliveries(client: PoolClient, ended: readonly RecordedClaim[]): Promise<number> {
  const ids = ended.map(({ delivery }) => delivery.id);
  return run(client, RECORD_ENDED({ ids, rows: JSON.stringify(ended.map(rowOf)) }));
}

// With an array the planner knows the number of rows.
const RECORD_ENDED = compiledOnce(
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

/** Milliseconds to the next attempt; null: there is none. */
export function nextInMs(ended: EndedClaim): number | null {
  if (ended.kind === 'dropped') return null;
  if (ended.kind === 'postponed') return ended.postponed.delayMs;
  const { status, retryAfterMs } = ended.attempt;
  return outcomeOf(status) === 'failed' ? retryInMs(ended.delivery.retried, retryAfterMs) : null;
}

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

interface EndpointOutcome extends EndpointName {
  /** One was delivered: `failures` counts from the last success. */
  isDelivered: boolean;
  failures: number;
  /** Set by the last result; `as-before`: dropped ones change nothing. */
  pause: 'as-before' | 'by-failures' | 'postponed';
  pauseMs: number;
}

function endpointOutcomes(ended: readonly EndedClaim[]): readonly EndpointOutcome[] {
  const after = new Map<string, EndpointOutcome>();
  for (const one of ended) {
    const endpoint = after.get(nameOf(one.delivery)) ?? unchangedEndpoint(one.delivery);
    after.set(nameOf(endpoint), endpoint);
    addOutcome(endpoint, one);
  }
  return [...after.values()];
}

const unchangedEndpoint = ({ tenant, mode, endpointId }: EndpointName): EndpointOutcome => ({
  tenant,
  mode,
  endpointId,
  isDelivered: false,
  failures: 0,
  pause: 'as-before',
  pauseMs: 0,
});

function addOutcome(endpoint: EndpointOutcome, ended: EndedClaim): void {
  switch (ended.kind) {
    case 'dropped':
      return;
    case 'postponed':
      if (!ended.postponed.endpoint) return;
      endpoint.pause = 'postponed';
      endpoint.pauseMs = ended.postponed.delayMs;
      return;
    case 'attempted': {
      const isDelivered = outcomeOf(ended.attempt.status) === 'delivered';
      endpoint.pause = 'by-failures';
      endpoint.isDelivered ||= isDelivered;
      endpoint.failures = isDelivered ? 0 : endpoint.failures + 1;
    }
  }
}

function storeEndpoints(
  client: PoolClient,
  endpoints: readonly EndpointOutcome[],
): Promise<number> {
  return run(client, STORE_ENDPOINTS({ endpoints: JSON.stringify(endpoints) }));
}

const STORE_ENDPOINTS = compiledOnce(
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

const EXPIRED_BATCH = 1_000;

/**
 * When an endpoint has failed for the whole retry period, ends its deliveries that have waited that
 * long, attempted or not. A failing endpoint gets one attempt at a time, so the others would wait
 * forever.
 */
function endExpired(client: PoolClient, endpoints: readonly EndpointOutcome[]): Promise<number> {
  return run(client, END_EXPIRED({ names: JSON.stringify(endpoints) }));
}

const RETRY_START_MIN = sql`now() - ${`${RETRIED_FOR_MS} ms`}::interval`;

const END_EXPIRED = compiledOnce(
  'webhook_deliveries.given_up',
  ({ names }: Given<{ names: string }>) => sql`
    update ledger.webhook_deliveries
    set state = 'DEAD', ended_at = now()
    where id in (
      select d.id
      from jsonb_to_recordset(${names}::jsonb) as named (
        tenant text, mode text, "endpointId" text
      ) join ledger.webhook_endpoints e on e.tenant = named.tenant and e.mode = named.mode
        and e.endpoint_id = named."endpointId" and e.failing_since < ${RETRY_START_MIN}
        and (e.held_until is null or e.held_until < ${RETRY_START_MIN})
      cross join lateral (
        select id, created, retried_from from ledger.webhook_deliveries
        where tenant = e.tenant and mode = e.mode and endpoint_id = e.endpoint_id
          and state = 'PENDING'
        order by created limit ${EXPIRED_BATCH} for update skip locked
      ) d
      where greatest(d.created, d.retried_from) < ${RETRY_START_MIN}
    )`,
);
