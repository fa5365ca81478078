import pLimit from 'p-limit';
import type { Pool } from 'pg';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { isRemoved } from '../../domain/tenant/test-clock.js';
import { isThemeStream, scopeOfStream } from '../../privacy/keyed-names.js';
import { metaOf } from '../../event-log/envelope.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import type { SubjectId } from '../../domain/personal.js';
import { batched } from '../../foundation/batched.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { KeyedQueue } from '../../foundation/keyed-queue.js';
import { keptCall } from '../../foundation/single-flight.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import { isUnavailable } from '../../postgres/database.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import {
  againIn,
  DONE,
  postponedFor,
  workStore,
  type ClaimedWork,
  type WorkOutcome,
} from '../../work-queue/work-items.js';
import { Worker } from '../../work-queue/worker.js';
import type { Payloads } from '../payloads/payloads.js';
import { sampleHeaders } from '../payloads/sample-data.js';
import type { WebhookPost } from '../sending/webhook-post.js';
import { signedWebhook } from '../signing/signed-webhook.js';
import type { SigningKey, SigningKeys } from '../signing/signing-keys.js';
import type { Subscription, WebhookSubscriptions } from '../subscriptions/webhook-subscriptions.js';
import { deliveryBody } from './delivery-body.js';
import { WEBHOOKS } from './delivery-rows.js';
import { belongsTo } from './test-deliveries.js';
import {
  dueDeliveries,
  endpointLanes,
  purgeDeliveries,
  type DueDelivery,
} from './due-deliveries.js';
import {
  attemptOf,
  nextInMs,
  outcomeOf,
  recordEnded,
  type EndedClaim,
  type Postponement,
  type RecordedClaim,
} from './ended-claims.js';
import type { ReceiverAnswers } from './receiver-answers.js';

export interface WebhookSenderParts {
  readonly pool: Pool;
  readonly tenants: Pick<TenantDirectory, 'find' | 'read'>;
  readonly subscriptions: WebhookSubscriptions;
  readonly payloads: Pick<Payloads, 'data'>;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly post: Pick<WebhookPost, 'post'>;
  readonly answers: Pick<ReceiverAnswers, 'seal'>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly onAttempt?: (seen: ObservedAttempt) => void;
}

export interface ObservedAttempt {
  readonly outcome: 'delivered' | 'failed' | 'gone';
  /** Milliseconds from the append to the first attempt; undefined: a later attempt. */
  readonly sinceAppendMs: number | undefined;
}

interface Endpoint {
  readonly tenant: OpenTenant;
  readonly subscription: Subscription;
}

/** A request, and the time since which its subscription is active. */
interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly activeSince: number;
  readonly people: readonly SubjectId[];
}

/** Bodies in progress: they share database connections with requests. */
const BODIES_MAX = 4;
const RETRY = { first: 100, max: 5_000 };
/** Attempts in progress in this process. */
const CONCURRENCY = 512;
const TENANT_CONCURRENCY = CONCURRENCY / 8;
/** Per endpoint, over all processes. */
const ENDPOINT_CONCURRENCY = 10;
/** Other processes take over the deliveries of a frozen process after this time. */
const LEASE_MS = 30_000;
/** The signing key is read once in this time. */
const KEY_KNOWN_MS = 1_000;
/** Delay for a suspended tenant or a disabled endpoint. */
const INACTIVE_DELAY_MS = 60_000;
/** Delay for an account with an event that this release cannot read. */
const UNREADABLE_DELAY_MS = 600_000;
/**
 * An attempt that starts later than this after the claim might be recorded only after the claim has
 * lapsed.
 */
const START_WITHIN_MS = LEASE_MS - 18_000;
const CLAIM_LAPSED: Postponement = { delayMs: 0, endpoint: false };
const PURGE_EVERY_MS = 3_600_000;
const PURGE_MORE_MS = 250;
const PURGE_BATCH = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;
const RETRIES_AT_END = 3;

/**
 * Sends due deliveries at least once. Any number of processes share the work. The body is made from
 * the log at every attempt, so that it contains nothing of forgotten people.
 */
export class WebhookSender {
  readonly worker: Worker;
  private readonly bodies = pLimit(BODIES_MAX);
  /** The bodies of one account are made one after the other, so a large one blocks no others. */
  private readonly turns = new KeyedQueue();
  private readonly find: (id: string) => Promise<DueDelivery | undefined>;
  private readonly record: (ended: RecordedClaim) => Promise<unknown>;
  private readonly currentKey: () => Promise<SigningKey>;

  constructor(private readonly parts: WebhookSenderParts) {
    const { pool, presence } = parts;
    this.find = batched(async (ids: readonly string[]) => {
      const found = await dueDeliveries(pool, ids);
      return ids.map((id) => found.get(id));
    });
    this.currentKey = keptCall(KEY_KNOWN_MS, () => parts.keys.current());
    this.record = batched(async (ended: readonly RecordedClaim[]) => {
      await this.untilRecorded(ended);
      return ended;
    });
    this.worker = new Worker({
      store: workStore(pool),
      presence,
      describe: describeFailure,
      sideWork: [{ work: () => this.purge(), everyMs: PURGE_EVERY_MS, moreMs: PURGE_MORE_MS }],
      kind: {
        name: WEBHOOKS,
        concurrency: CONCURRENCY,
        // Fewer places per tenant when few are free, so that a new tenant finds one.
        ofTenant: (free) => Math.min(free, TENANT_CONCURRENCY),
        ofLane: ENDPOINT_CONCURRENCY,
        leaseMs: LEASE_MS,
        lanes: () => endpointLanes(pool),
        perform: (item) => this.perform(item),
      },
    });
  }

  private async perform({ id }: ClaimedWork): Promise<WorkOutcome> {
    const claimedAt = elapsed();
    const delivery = await this.find(id);
    // The delivery has ended or was deleted.
    if (delivery === undefined) return DONE;
    const ended = await this.attempt(delivery, claimedAt);
    const next = nextInMs(ended);
    await this.record({ ...ended, next });
    if (next === null) return DONE;
    return ended.kind === 'postponed' ? postponedFor(next) : againIn(next);
  }

  /** While the database is unavailable, results wait here, and their deliveries are not resent. */
  private async untilRecorded(ended: readonly RecordedClaim[]): Promise<void> {
    const { signal } = this.worker.loop;
    for (let failures = 0; ; failures++)
      try {
        return await recordEnded(this.parts.pool, ended);
      } catch (error) {
        if (!isUnavailable(error) || (signal.aborted && failures >= RETRIES_AT_END)) throw error;
        await pause(backOffMs(failures, RETRY), signal.aborted ? undefined : signal);
      }
  }

  private async attempt(delivery: DueDelivery, claimedAt: number): Promise<EndedClaim> {
    const made = await this.made(delivery);
    if (made === 'nothing') return { kind: 'dropped', delivery };
    if ('delayMs' in made) return { kind: 'postponed', delivery, postponed: made };
    const at = timeNow();
    // The claim may have lapsed, and another process may have sent the delivery.
    if (elapsed() - claimedAt > START_WITHIN_MS)
      return { kind: 'postponed', delivery, postponed: CLAIM_LAPSED };
    const posted = await this.parts.post.post(made);
    const ended = await attemptOf(posted, this.parts.answers, delivery.id, made.people);
    const attempt = { at, ...ended };
    const outcome = outcomeOf(attempt.status);
    const sinceAppendMs = delivery.attempts === 0 ? at - delivery.created : undefined;
    this.parts.onAttempt?.({ outcome, sinceAppendMs });
    if (outcome === 'gone') await this.disable(delivery, made.activeSince);
    return { kind: 'attempted', delivery, attempt };
  }

  private async made(delivery: DueDelivery): Promise<Request | 'nothing' | Postponement> {
    try {
      return await this.make(delivery);
    } catch (error) {
      // Other deliveries to the endpoint continue.
      if (error instanceof UnreadableEvent)
        return { delayMs: UNREADABLE_DELAY_MS, endpoint: false };
      throw error;
    }
  }

  /** `nothing`: there is nothing to send any more. */
  private async make(delivery: DueDelivery): Promise<Request | 'nothing' | Postponement> {
    const before = await this.endpointOf(delivery);
    if (before === 'nothing' || 'delayMs' in before) return before;
    const body = await this.turns.run(delivery.event?.stream ?? delivery.id, () =>
      this.bodies(() => deliveryBody(this.parts.payloads, delivery, before)),
    );
    if (typeof body === 'string') return 'nothing';
    // The subscription may have changed while the body was made.
    const isAsBefore = (await this.parts.tenants.find(delivery.tenant)) === before.tenant;
    const now = isAsBefore ? before : await this.endpointOf(delivery);
    if (now === 'nothing' || 'delayMs' in now) return now;
    const { endpointUrl: url, activeSince } = now.subscription;
    const signed = await signedWebhook(body.made, now.subscription, await this.currentKey());
    const headers = {
      ...signed.headers,
      ...(delivery.event === null && sampleHeaders(delivery.type)),
    };
    return { url, headers, body: signed.body, activeSince, people: body.people };
  }

  /** `nothing`: no subscription receives it any more. */
  private async endpointOf(delivery: DueDelivery): Promise<Endpoint | 'nothing' | Postponement> {
    const { tenant: alias } = delivery;
    const { tenants, subscriptions } = this.parts;
    const foundIn = async (tenant: OpenTenant | undefined): Promise<Endpoint | undefined> => {
      const subscription =
        tenant && (await subscriptions.of(tenant, delivery.mode, delivery.endpointId));
      return subscription && belongsTo(delivery, subscription)
        ? { tenant, subscription }
        : undefined;
    };
    // The cached tenant may be older than the subscription.
    const found =
      (await foundIn(await tenants.find(alias))) ?? (await foundIn(await tenants.read(alias)));
    if (found === undefined) return 'nothing';
    const stream = delivery.event?.stream ?? '';
    const ledger = scopeOfStream(stream);
    if (ledger && !isThemeStream(stream) && isRemoved(found.tenant, ledger)) return 'nothing';
    const { eventTypes } = found.subscription;
    if (delivery.event !== null && eventTypes?.includes(delivery.type) === false) return 'nothing';
    return found.tenant.suspended !== null || found.subscription.disabled !== null
      ? { delayMs: INACTIVE_DELAY_MS, endpoint: true }
      : found;
  }

  private async disable(
    { tenant, mode, endpointId }: DueDelivery,
    activeSince: number,
  ): Promise<void> {
    await this.parts.subscriptions.disable(
      metaOf({ tenant, mode }, { kind: 'system', id: 'webhooks' }, 'webhook answered 410'),
      { endpointId, activeSince, because: 'GONE' },
    );
  }

  private purge(): Promise<number> {
    return purgeDeliveries(this.parts.pool, new Date(timeNow() - KEPT_MS), PURGE_BATCH);
  }
}
