import pLimit from 'p-limit';
import type { Pool } from 'pg';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { metaOf } from '../../event-log/envelope.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import type { SubjectId } from '../../domain/personal.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { Turns } from '../../foundation/turns.js';
import { WorkLoop } from '../../foundation/work-loop.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import { isUnavailable } from '../../postgres/database.js';
import type { PayloadData, Payloads } from '../payloads/payloads.js';
import { testData } from '../payloads/presented.js';
import { sampleData, sampleHeaders } from '../payloads/sample-data.js';
import type { Posted, WebhookPost } from '../sending/webhook-post.js';
import { signedWebhook, webhookBody } from '../signing/signed-webhook.js';
import type { SigningKey, SigningKeys } from '../signing/signing-keys.js';
import type { Subscription, WebhookSubscriptions } from '../subscriptions/webhook-subscriptions.js';
import { AttemptPlaces, type Place } from './attempt-places.js';
import { isFor } from './test-deliveries.js';
import {
  claimDue,
  isAnyDue,
  LEASE_MS,
  purgeDeliveries,
  type ClaimedDelivery,
} from './due-deliveries.js';
import {
  outcomeOf,
  recordEnded,
  type Attempt,
  type EndedClaim,
  type Postponed,
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
  readonly logger: Pick<Logger, 'warn'>;
  readonly onAttempt?: (seen: SeenAttempt) => void;
}

/** For metrics. */
export interface SeenAttempt {
  readonly outcome: 'delivered' | 'failed' | 'gone';
  /** From the append of the event to the first attempt, milliseconds; undefined: a later one. */
  readonly sinceAppendMs: number | undefined;
}

/** Not recorded yet. */
interface Ended {
  readonly place: Place;
  readonly claim: EndedClaim;
}

/** The key that signs now, read when it is first asked for. */
type ReadKey = () => Promise<SigningKey>;

interface Endpoint {
  readonly tenant: OpenTenant;
  readonly subscription: Subscription;
}

const isTooOld = ({ claimedAt }: Place): boolean => elapsed() - claimedAt > BEGIN_WITHIN_MS;

/** A request, and since when the subscription that it goes to is active. */
interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly activeSince: number;
  /** Whom it names. */
  readonly people: readonly SubjectId[];
}

type Made = Extract<PayloadData, { readonly kind: 'made' }>;

/** Bodies in the making at once: connections are shared with requests. */
const BODIES_AT_ONCE = 4;
const RETRY = { first: 100, max: 5_000 };
const RETRIES_AT_END = 3;
/** The log, the keys or the vault did not answer. */
const STORES_AWAY_MS = 5_000;
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

/**
 * Sends what is due. Any number of processes share the work: a delivery is claimed for 30 s,
 * and is sent at least once. The body is made from the log at every attempt; it is the same each
 * time, unless a person or a code in it was forgotten meanwhile. The loop records what ended and
 * claims what is due: what ends meanwhile is recorded together.
 */
export class WebhookSender {
  readonly loop: WorkLoop;
  /** Not recorded yet. */
  private readonly ended: Ended[] = [];
  private readonly bodies = pLimit(BODIES_AT_ONCE);
  /** One account's bodies take turns: while a large one is read, they take no places of others. */
  private readonly turns = new Turns();
  private readonly places = new AttemptPlaces();

  constructor(private readonly parts: WebhookSenderParts) {
    this.loop = new WorkLoop({
      take: () => this.recordAndClaim(),
      beside: [{ work: () => this.purge(), everyMs: PURGE_EVERY_MS, moreMs: PURGE_MORE_MS }],
      describe: describeFailure,
    });
  }

  /** Attempts under way end, and are recorded. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await this.recordRest();
  }

  private async recordAndClaim(): Promise<number> {
    await this.record();
    return (await isAnyDue(this.parts.pool)) ? this.claim() : 0;
  }

  private async claim(): Promise<number> {
    const { pool, keys } = this.parts;
    const claimedAt = elapsed();
    const room = this.places.room();
    if (room.deliveries === 0) return 0;
    const claimed = await claimDue(pool, room);
    let key: Promise<SigningKey> | undefined;
    for (const delivery of claimed)
      this.begin(this.places.hold(delivery, claimedAt), () => (key ??= keys.current()));
    return claimed.length;
  }

  private begin(place: Place, key: ReadKey): void {
    const attempt = this.attempt(place, key).then(
      (claim) => void this.ended.push({ place, claim }),
      (error: unknown) => {
        this.places.release(place);
        this.lost(1, error);
      },
    );
    this.loop.carry(attempt, place.delivery.tenant);
  }

  /**
   * Of a delivery that was claimed twice the later attempt waits for the next call. While the
   * database is away all that ended waits, and keeps its places. @throws then.
   */
  private async record(): Promise<void> {
    const recorded = new Map<string, Ended>();
    for (const one of this.ended.splice(0))
      if (recorded.has(one.claim.delivery.id)) this.ended.push(one);
      else recorded.set(one.claim.delivery.id, one);
    if (recorded.size === 0) return;
    const ended = [...recorded.values()];
    try {
      await recordEnded(
        this.parts.pool,
        ended.map(({ claim }) => claim),
      );
    } catch (error) {
      if (isUnavailable(error)) {
        this.ended.unshift(...ended);
        throw error;
      }
      this.lost(recorded.size, error);
    }
    for (const { place } of ended) this.places.release(place);
  }

  /** Without waiting for long for a database that is away. */
  private async recordRest(): Promise<void> {
    for (let failures = 0; this.ended.length > 0;)
      try {
        await this.record();
      } catch (error) {
        if (failures === RETRIES_AT_END) return this.lost(this.ended.splice(0).length, error);
        await pause(backOffMs(failures++, RETRY));
      }
  }

  /** The claims lapse, and the deliveries are sent again. */
  private lost(attempts: number, error: unknown): void {
    this.parts.logger.warn(
      { error: describeFailure(error), attempts },
      'webhook attempts are lost',
    );
  }

  private async attempt(place: Place, key: ReadKey): Promise<EndedClaim> {
    const { delivery } = place;
    const made = await this.made(delivery, key);
    if (made === 'nothing') return { kind: 'dropped', delivery };
    if ('notFor' in made) return { kind: 'postponed', delivery, postponed: made };
    const at = timeNow();
    // Others may have sent it since, and recorded that.
    if (isTooOld(place)) return { kind: 'postponed', delivery, postponed: NOT_BEGUN };
    const posted = await this.parts.post.post(made);
    const attempt = { at, ...(await this.attemptOf(delivery, posted, made.people)) };
    const outcome = outcomeOf(attempt.status);
    const sinceAppendMs = delivery.attempts === 0 ? at - delivery.created : undefined;
    this.parts.onAttempt?.({ outcome, sinceAppendMs });
    if (outcome === 'gone') await this.disable(delivery, made.activeSince);
    return { kind: 'attempted', delivery, attempt };
  }

  /** As `make`; postponed where it failed. */
  private async made(
    delivery: ClaimedDelivery,
    key: ReadKey,
  ): Promise<Request | 'nothing' | Postponed> {
    try {
      const made = await this.make(delivery, key);
      this.loop.worked();
      return made;
    } catch (error) {
      // What else goes to the endpoint is not held up.
      if (error instanceof UnreadableEvent) return { notFor: UNREADABLE_MS, endpoint: false };
      this.loop.failed(error);
      return { notFor: STORES_AWAY_MS, endpoint: true };
    }
  }

  /** The request; `nothing`: there is nothing to tell any more. */
  private async make(
    delivery: ClaimedDelivery,
    key: ReadKey,
  ): Promise<Request | 'nothing' | Postponed> {
    const before = await this.endpointOf(delivery);
    if (before === 'nothing' || 'notFor' in before) return before;
    const body = await this.turns.take(delivery.event?.stream ?? delivery.id, () =>
      this.bodies(() => this.makeBody(delivery, before.subscription)),
    );
    if (body === undefined) return 'nothing';
    // To make a body may take long.
    const isAsBefore = (await this.parts.tenants.find(delivery.tenant)) === before.tenant;
    const now = isAsBefore ? before : await this.endpointOf(delivery);
    if (now === 'nothing' || 'notFor' in now) return now;
    const { endpointUrl: url, activeSince } = now.subscription;
    const signed = await signedWebhook(body.made, now.subscription, await key());
    const headers = {
      ...signed.headers,
      ...(delivery.event === null && sampleHeaders(delivery.type)),
    };
    return { url, headers, body: signed.body, activeSince, people: body.people };
  }

  /** A body, and whom it names. */
  private async makeBody(delivery: ClaimedDelivery, subscription: Subscription) {
    const made = await this.dataOf(delivery, subscription);
    if (made === undefined) return undefined;
    const { data, people } = made;
    const { webhookId: id, type, tenant: tenantAlias, mode, created } = delivery;
    const envelope = { id, type, tenantAlias, live: mode === 'live', created, data };
    return { made: webhookBody(envelope), people };
  }

  /** `nothing`: nobody subscribes it any more. */
  private async endpointOf(delivery: ClaimedDelivery): Promise<Endpoint | 'nothing' | Postponed> {
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
    const { eventTypes } = found.subscription;
    if (delivery.event !== null && eventTypes?.includes(delivery.type) === false) return 'nothing';
    return found.tenant.suspended !== null || found.subscription.disabled !== null
      ? { notFor: NOTHING_SENT_MS, endpoint: true }
      : found;
  }

  /** Undefined: the log lost the event, or it is about somebody who was forgotten. */
  private async dataOf(
    { event, type, subject, tenant, mode }: ClaimedDelivery,
    { endpointUrl, name }: Subscription,
  ): Promise<Made | undefined> {
    if (event === null) {
      const data = type === 'test' ? testData(endpointUrl, name) : await sampleData(type);
      return { kind: 'made', data, people: [] };
    }
    const { stream, revision, eventId } = event;
    const of = { tenant, mode, stream, revision, eventId, announced: { type, subject } };
    const made = await this.parts.payloads.data(of);
    return made.kind === 'made' ? made : undefined;
  }

  private async attemptOf(
    { id }: ClaimedDelivery,
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
    { tenant, mode, endpointId }: ClaimedDelivery,
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
