import pLimit, { type LimitFunction } from 'p-limit';
import type { Pool } from 'pg';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import type { SubjectId } from '../../domain/personal.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { Turns } from '../../foundation/turns.js';
import { WorkLoop, type SideWork } from '../../foundation/work-loop.js';
import { elapsed, newId, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import { isUnavailable } from '../../postgres/database.js';
import { HistoryMustWait } from '../payloads/account-histories.js';
import type { PayloadData, Payloads } from '../payloads/payloads.js';
import { testData } from '../payloads/presented.js';
import type { Posted, WebhookPost } from '../sending/webhook-post.js';
import { signedWebhook, webhookBody, type WebhookBody } from '../signing/signed-webhook.js';
import type { SigningKey, SigningKeys } from '../signing/signing-keys.js';
import type { Subscription, WebhookSubscriptions } from '../subscriptions/webhook-subscriptions.js';
import { AttemptPlaces, type Place } from './attempt-places.js';
import { isFor } from './test-deliveries.js';
import { ClaimsOfTheDead } from './claims-of-the-dead.js';
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
  /** This process, as its presence names it: others free its claims when it is gone. */
  readonly process: number;
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

/** For the health page and the metrics: of this process. */
export interface SenderStatus {
  /** Whether this process sends. */
  readonly sends: boolean;
  /** Attempts under way. */
  readonly underWay: number;
  /** How long it could not read what is due, or make bodies. */
  readonly stillSeconds: number;
  readonly lastError: string | null;
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

/** The attempt would end behind its claim. */
class ClaimTooOld extends Error {
  override readonly name = 'ClaimTooOld';
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

/** A body, and whom it names. */
interface MadeBody {
  readonly made: WebhookBody;
  readonly people: readonly SubjectId[];
}

type Made = Extract<PayloadData, { readonly kind: 'made' }>;

/**
 * Endpoints that are slow or never answered well have a lane of their own: whatever they cost, the
 * others do not wait for it.
 */
interface Lane {
  readonly areSlow: boolean;
  readonly loop: WorkLoop;
  /** Not recorded yet. */
  readonly ended: Ended[];
  readonly bodies: LimitFunction;
  /** One account's bodies take turns: while a large one is read, they take no places of others. */
  readonly turns: Turns;
  /** By webhook id, while it is made: several endpoints of a tenant get the same one. */
  readonly making: Map<string, Promise<MadeBody | undefined>>;
}

function inTurn<T>(
  { bodies, turns }: Lane,
  stream: string | undefined,
  make: () => Promise<T>,
): Promise<T> {
  return stream === undefined ? bodies(make) : turns.take(stream, () => bodies(make));
}

/** Bodies in the making at once: connections are shared with requests. */
const BODIES_AT_ONCE = 4;
const SLOW_BODIES_AT_ONCE = 2;
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
const FREE_CLAIMS_EVERY_MS = 1_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_MORE_MS = 250;
const PURGE_AT_ONCE = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Sends what is due. Any number of processes share the work: a delivery is claimed for 30 s,
 * and is sent at least once. The body is made from the log at every attempt; it is the same each
 * time, unless a person or a code in it was forgotten meanwhile. The loop of a lane records what
 * ended and claims what is due: what ends meanwhile is recorded together.
 */
export class WebhookSender {
  private readonly lanes: readonly Lane[];
  private readonly underWay = new Set<Promise<void>>();
  private readonly places = new AttemptPlaces();

  constructor(private readonly parts: WebhookSenderParts) {
    const { pool, process } = parts;
    const claims = new ClaimsOfTheDead(pool, process);
    const beside: readonly SideWork[] = [
      { work: () => this.purge(), everyMs: PURGE_EVERY_MS, moreMs: PURGE_MORE_MS },
      { work: () => this.freeClaims(claims), everyMs: FREE_CLAIMS_EVERY_MS },
    ];
    this.lanes = [this.lane(false, BODIES_AT_ONCE, beside), this.lane(true, SLOW_BODIES_AT_ONCE)];
  }

  start(): void {
    for (const { loop } of this.lanes) loop.start();
  }

  /** Attempts under way end, and are recorded. */
  async stop(): Promise<void> {
    await Promise.all(this.lanes.map(({ loop }) => loop.stop()));
    await Promise.all(this.underWay);
    for (const lane of this.lanes) await this.recordRest(lane);
  }

  /** Something may be due. */
  look(): void {
    for (const { loop } of this.lanes) loop.look();
  }

  status(): SenderStatus {
    const all = this.lanes.map(({ loop }) => loop.status());
    return {
      sends: all.some(({ runs }) => runs),
      underWay: this.underWay.size,
      stillSeconds: Math.max(...all.map(({ stillSeconds }) => stillSeconds)),
      lastError: all.find(({ lastError }) => lastError !== null)?.lastError ?? null,
    };
  }

  private lane(areSlow: boolean, bodiesAtOnce: number, beside: readonly SideWork[] = []): Lane {
    const lane: Lane = {
      areSlow,
      loop: new WorkLoop({
        take: () => this.recordAndClaim(lane),
        beside,
        describe: describeFailure,
      }),
      ended: [],
      bodies: pLimit(bodiesAtOnce),
      turns: new Turns(),
      making: new Map(),
    };
    return lane;
  }

  private async recordAndClaim(lane: Lane): Promise<number> {
    await this.record(lane);
    return (await isAnyDue(this.parts.pool, lane.areSlow)) ? this.claim(lane) : 0;
  }

  private async claim(lane: Lane): Promise<number> {
    const { pool, keys, process } = this.parts;
    const claimedAt = elapsed();
    const room = this.places.room(lane.areSlow, claimedAt);
    if (room.deliveries === 0) return 0;
    const claimed = await claimDue(pool, room, process);
    let key: Promise<SigningKey> | undefined;
    for (const delivery of claimed)
      this.begin(lane, this.places.hold(delivery, claimedAt), () => (key ??= keys.current()));
    return claimed.length;
  }

  private begin(lane: Lane, place: Place, key: ReadKey): void {
    const attempt: Promise<void> = this.attempt(lane, place, key)
      .then(
        (claim) => void lane.ended.push({ place, claim }),
        (error: unknown) => {
          this.places.release(place);
          this.lost(1, error);
        },
      )
      .finally(() => {
        this.underWay.delete(attempt);
        lane.loop.look();
      });
    this.underWay.add(attempt);
  }

  /**
   * Of a delivery that was claimed twice the later attempt waits for the next call. While the
   * database is away all that ended waits, and keeps its places. @throws then.
   */
  private async record(lane: Lane): Promise<void> {
    const recorded = new Map<string, Ended>();
    for (const one of lane.ended.splice(0))
      if (recorded.has(one.claim.delivery.id)) lane.ended.push(one);
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
        lane.ended.unshift(...ended);
        throw error;
      }
      this.lost(recorded.size, error);
    }
    for (const { place } of ended) this.places.release(place);
  }

  /** Without waiting for long for a database that is away. */
  private async recordRest(lane: Lane): Promise<void> {
    for (let failures = 0; lane.ended.length > 0;)
      try {
        await this.record(lane);
      } catch (error) {
        if (failures === RETRIES_AT_END) return this.lost(lane.ended.splice(0).length, error);
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

  private async attempt(lane: Lane, place: Place, key: ReadKey): Promise<EndedClaim> {
    const { delivery } = place;
    const made = await this.made(lane, place, key);
    if (made === 'nothing') return { kind: 'dropped', delivery };
    if ('notFor' in made) return { kind: 'postponed', delivery, postponed: made };
    const at = timeNow();
    place.sentAt = elapsed();
    // Others may have sent it since, and recorded that.
    if (isTooOld(place)) return { kind: 'postponed', delivery, postponed: NOT_BEGUN };
    const posted = await this.parts.post.post(made);
    place.isAnswered = true;
    const attempt = { at, ...(await this.attemptOf(delivery, posted, made.people)) };
    const outcome = outcomeOf(attempt.status);
    const sinceAppendMs = delivery.attempts === 0 ? at - delivery.created : undefined;
    this.parts.onAttempt?.({ outcome, sinceAppendMs });
    if (outcome === 'gone') await this.disable(delivery, made.activeSince);
    return { kind: 'attempted', delivery, attempt };
  }

  /** As `make`; postponed where it failed. */
  private async made(
    lane: Lane,
    place: Place,
    key: ReadKey,
  ): Promise<Request | 'nothing' | Postponed> {
    try {
      const made = await this.make(lane, place, key);
      lane.loop.worked();
      return made;
    } catch (error) {
      if (error instanceof ClaimTooOld) return NOT_BEGUN;
      // What else goes to the endpoint is not held up.
      if (error instanceof UnreadableEvent) return { notFor: UNREADABLE_MS, endpoint: false };
      if (error instanceof HistoryMustWait) return { notFor: error.forMs, endpoint: false };
      lane.loop.failed(error);
      return { notFor: STORES_AWAY_MS, endpoint: true };
    }
  }

  /** The request; `nothing`: there is nothing to tell any more. */
  private async make(
    lane: Lane,
    place: Place,
    key: ReadKey,
  ): Promise<Request | 'nothing' | Postponed> {
    const { delivery } = place;
    const before = await this.endpointOf(delivery);
    if (before === 'nothing' || 'notFor' in before) return before;
    const make = () => this.makeBody(delivery, before.subscription);
    const body = await this.bodyOf(lane, place, make);
    if (body === undefined) return 'nothing';
    // To make a body may take long.
    const isAsBefore = (await this.parts.tenants.find(delivery.tenant)) === before.tenant;
    const now = isAsBefore ? before : await this.endpointOf(delivery);
    if (now === 'nothing' || 'notFor' in now) return now;
    const { endpointUrl: url, activeSince } = now.subscription;
    const signed = await signedWebhook(body.made, now.subscription, await key());
    return { url, ...signed, activeSince, people: body.people };
  }

  /** Shared by the deliveries of an announcement, as long as it takes to make it, and no longer. */
  private bodyOf(
    lane: Lane,
    place: Place,
    make: () => Promise<MadeBody | undefined>,
  ): Promise<MadeBody | undefined> {
    const { event, webhookId } = place.delivery;
    const shared = lane.making.get(webhookId);
    if (shared !== undefined) return shared;
    const making = inTurn(lane, event?.stream, () => {
      // It has waited for the bodies before it.
      if (isTooOld(place)) throw new ClaimTooOld();
      return make();
    });
    // The data of a test names its endpoint.
    if (event === null) return making;
    lane.making.set(webhookId, making);
    const made = (): void => void lane.making.delete(webhookId);
    making.then(made, made);
    return making;
  }

  private async makeBody(
    delivery: ClaimedDelivery,
    subscription: Subscription,
  ): Promise<MadeBody | undefined> {
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
    if (event === null) return { kind: 'made', data: testData(endpointUrl, name), people: [] };
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
      {
        scope: { tenant, mode },
        commandId: newId(),
        correlationId: newId(),
        causationId: 'webhook answered 410',
        actor: { kind: 'system', id: 'webhooks' },
        idempotency: null,
      },
      { endpointId, activeSince, because: 'GONE' },
    );
  }

  private async freeClaims(claims: ClaimsOfTheDead): Promise<number> {
    const freed = await claims.free(elapsed());
    if (freed > 0) this.look();
    return freed;
  }

  private purge(): Promise<number> {
    return purgeDeliveries(this.parts.pool, new Date(timeNow() - KEPT_MS), PURGE_AT_ONCE);
  }
}
