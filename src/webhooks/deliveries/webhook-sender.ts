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
import { Turns } from '../../foundation/turns.js';
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
import type { Posted, WebhookPost } from '../sending/webhook-post.js';
import { signedWebhook } from '../signing/signed-webhook.js';
import type { SigningKey, SigningKeys } from '../signing/signing-keys.js';
import type { Subscription, WebhookSubscriptions } from '../subscriptions/webhook-subscriptions.js';
import { deliveryBody } from './delivery-body.js';
import { WEBHOOKS } from './delivery-rows.js';
import { isFor } from './test-deliveries.js';
import {
  dueDeliveries,
  endpointLanes,
  purgeDeliveries,
  type DueDelivery,
} from './due-deliveries.js';
import {
  nextInMs,
  outcomeOf,
  recordEnded,
  type Attempt,
  type EndedClaim,
  type Postponed,
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
  readonly onAttempt?: (seen: SeenAttempt) => void;
}

/** For metrics. */
export interface SeenAttempt {
  readonly outcome: 'delivered' | 'failed' | 'gone';
  /** From the append of the event to the first attempt, milliseconds; undefined: a later one. */
  readonly sinceAppendMs: number | undefined;
}

interface Endpoint {
  readonly tenant: OpenTenant;
  readonly subscription: Subscription;
}

/** A request, and since when the subscription that it goes to is active. */
interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly activeSince: number;
  /** Whom it names. */
  readonly people: readonly SubjectId[];
}

/** Bodies in the making at once: connections are shared with requests. */
const BODIES_AT_ONCE = 4;
const RETRY = { first: 100, max: 5_000 };
/** Attempts under way in this process. */
const AT_ONCE = 512;
const OF_TENANT_AT_ONCE = AT_ONCE / 8;
/** To one endpoint, by all processes. */
const OF_ENDPOINT_AT_ONCE = 10;
/** A process that claimed a delivery and is frozen leaves it to others after this time. */
const LEASE_MS = 30_000;
/** The current key is read once for the attempts of a moment. */
const KEY_KNOWN_MS = 1_000;
/** A suspended tenant or a disabled endpoint is looked at again. */
const NOTHING_SENT_MS = 60_000;
/** Its account has an event that this release cannot read. */
const UNREADABLE_MS = 600_000;
/** A claim that is older is given back: before its end the attempt has to end, and be recorded. */
const BEGIN_WITHIN_MS = LEASE_MS - 18_000;
const NOT_BEGUN: Postponed = { notFor: 0, endpoint: false };
const PURGE_EVERY_MS = 3_600_000;
const PURGE_MORE_MS = 250;
const PURGE_AT_ONCE = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;
const RETRIES_AT_END = 3;

/**
 * Sends what is due. Any number of processes share the work, and a delivery is sent at least once.
 * The body is made from the log at every attempt; it is the same each time, unless a person or a
 * code in it was forgotten meanwhile. Claimed deliveries are read together, and outcomes are
 * recorded together.
 */
export class WebhookSender {
  readonly worker: Worker;
  private readonly bodies = pLimit(BODIES_AT_ONCE);
  /** One account's bodies take turns: while a large one is read, they take no places of others. */
  private readonly turns = new Turns();
  private readonly find: (id: string) => Promise<DueDelivery | undefined>;
  private readonly record: (ended: RecordedClaim) => Promise<unknown>;
  private key: { readonly current: Promise<SigningKey>; readonly at: number } | undefined;

  constructor(private readonly parts: WebhookSenderParts) {
    const { pool, presence } = parts;
    this.find = batched(async (ids: readonly string[]) => {
      const found = await dueDeliveries(pool, ids);
      return ids.map((id) => found.get(id));
    });
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
        atOnce: AT_ONCE,
        // The more places are taken, the fewer each tenant may have: one that has none finds one.
        ofTenant: (free) => Math.min(free, OF_TENANT_AT_ONCE),
        ofLane: OF_ENDPOINT_AT_ONCE,
        leaseMs: LEASE_MS,
        lanes: () => endpointLanes(pool),
        perform: (item) => this.perform(item),
      },
    });
  }

  private async perform({ id }: ClaimedWork): Promise<WorkOutcome> {
    const claimedAt = elapsed();
    const delivery = await this.find(id);
    // It has ended, or its endpoint has.
    if (delivery === undefined) return DONE;
    const ended = await this.attempt(delivery, claimedAt);
    const next = nextInMs(ended);
    await this.record({ ...ended, next });
    if (next === null) return DONE;
    return ended.kind === 'postponed' ? postponedFor(next) : againIn(next);
  }

  /** During an outage of the database outcomes keep their places; nothing is sent again. */
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

  private currentKey(): Promise<SigningKey> {
    if (this.key === undefined || elapsed() - this.key.at > KEY_KNOWN_MS) {
      const current = this.parts.keys.current();
      this.key = { current, at: elapsed() };
      current.catch(() => (this.key = undefined));
    }
    return this.key.current;
  }

  private async attempt(delivery: DueDelivery, claimedAt: number): Promise<EndedClaim> {
    const made = await this.made(delivery);
    if (made === 'nothing') return { kind: 'dropped', delivery };
    if ('notFor' in made) return { kind: 'postponed', delivery, postponed: made };
    const at = timeNow();
    // Others may have sent it since, and recorded that.
    if (elapsed() - claimedAt > BEGIN_WITHIN_MS)
      return { kind: 'postponed', delivery, postponed: NOT_BEGUN };
    const posted = await this.parts.post.post(made);
    const attempt = { at, ...(await this.attemptOf(delivery, posted, made.people)) };
    const outcome = outcomeOf(attempt.status);
    const sinceAppendMs = delivery.attempts === 0 ? at - delivery.created : undefined;
    this.parts.onAttempt?.({ outcome, sinceAppendMs });
    if (outcome === 'gone') await this.disable(delivery, made.activeSince);
    return { kind: 'attempted', delivery, attempt };
  }

  /** As `make`; postponed where it failed. */
  private async made(delivery: DueDelivery): Promise<Request | 'nothing' | Postponed> {
    try {
      return await this.make(delivery);
    } catch (error) {
      // What else goes to the endpoint is not held up.
      if (error instanceof UnreadableEvent) return { notFor: UNREADABLE_MS, endpoint: false };
      throw error;
    }
  }

  /** The request; `nothing`: there is nothing to tell any more. */
  private async make(delivery: DueDelivery): Promise<Request | 'nothing' | Postponed> {
    const before = await this.endpointOf(delivery);
    if (before === 'nothing' || 'notFor' in before) return before;
    const body = await this.turns.take(delivery.event?.stream ?? delivery.id, () =>
      this.bodies(() => deliveryBody(this.parts.payloads, delivery, before)),
    );
    if (typeof body === 'string') return 'nothing';
    // To make a body may take long.
    const isAsBefore = (await this.parts.tenants.find(delivery.tenant)) === before.tenant;
    const now = isAsBefore ? before : await this.endpointOf(delivery);
    if (now === 'nothing' || 'notFor' in now) return now;
    const { endpointUrl: url, activeSince } = now.subscription;
    const signed = await signedWebhook(body.made, now.subscription, await this.currentKey());
    const headers = {
      ...signed.headers,
      ...(delivery.event === null && sampleHeaders(delivery.type)),
    };
    return { url, headers, body: signed.body, activeSince, people: body.people };
  }

  /** `nothing`: nobody subscribes it any more. */
  private async endpointOf(delivery: DueDelivery): Promise<Endpoint | 'nothing' | Postponed> {
    const { tenant: alias } = delivery;
    const { tenants, subscriptions } = this.parts;
    const foundIn = async (tenant: OpenTenant | undefined): Promise<Endpoint | undefined> => {
      const subscription =
        tenant && (await subscriptions.of(tenant, delivery.mode, delivery.endpointId));
      return subscription && isFor(delivery, subscription) ? { tenant, subscription } : undefined;
    };
    // The one in the cache may be older than the subscription.
    const found =
      (await foundIn(await tenants.find(alias))) ?? (await foundIn(await tenants.read(alias)));
    if (found === undefined) return 'nothing';
    const stream = delivery.event?.stream ?? '';
    const ledger = scopeOfStream(stream);
    if (ledger && !isThemeStream(stream) && isRemoved(found.tenant, ledger)) return 'nothing';
    const { eventTypes } = found.subscription;
    if (delivery.event !== null && eventTypes?.includes(delivery.type) === false) return 'nothing';
    return found.tenant.suspended !== null || found.subscription.disabled !== null
      ? { notFor: NOTHING_SENT_MS, endpoint: true }
      : found;
  }

  private async attemptOf(
    { id }: DueDelivery,
    posted: Posted,
    people: readonly SubjectId[],
  ): Promise<Omit<Attempt, 'at'>> {
    const ms = Math.round(posted.ms);
    if (posted.kind === 'failed') {
      const { reason } = posted;
      return { ms, status: null, reason, retryAfterMs: null, beginning: null, people };
    }
    const { status, retryAfterMs, beginning } = posted;
    const sealed = await this.parts.answers.seal(beginning, id, people);
    return { ms, status, reason: null, retryAfterMs, beginning: sealed, people };
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
    return purgeDeliveries(this.parts.pool, new Date(timeNow() - KEPT_MS), PURGE_AT_ONCE);
  }
}
