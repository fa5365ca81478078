import pLimit from 'p-limit';
import type { Pool } from 'pg';
import type { TenantDirectory } from '../../command-handling/tenant-directory.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { elapsed, newId, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../policies/describe-failure.js';
import type { Sealer } from '../../privacy/sealed-bytes.js';
import type { Payloads } from '../payloads/payloads.js';
import { testData } from '../payloads/presented.js';
import type { Posted, WebhookPost } from '../sending/webhook-post.js';
import { signedWebhook } from '../signing/signed-webhook.js';
import type { SigningKeys } from '../signing/signing-keys.js';
import type { Subscription, WebhookSubscriptions } from '../subscriptions/webhook-subscriptions.js';
import {
  claimDue,
  dropDelivery,
  outcomeOf,
  postpone,
  purgeDeliveries,
  recordAttempt,
  type Attempt,
  type ClaimedDelivery,
  type Postponed,
} from './due-deliveries.js';
import { eventAt } from './event-at.js';

export interface WebhookSenderParts {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'readStream'>;
  readonly tenants: Pick<TenantDirectory, 'find' | 'read'>;
  readonly subscriptions: WebhookSubscriptions;
  readonly payloads: Pick<Payloads, 'data'>;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly post: Pick<WebhookPost, 'post'>;
  /** Encrypts what is kept of answers. */
  readonly sealer: Sealer;
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

/** A request, and since when the subscription that it goes to is active. */
interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly activeSince: number;
}

/** Attempts under way in this process. */
const AT_ONCE = 256;
/** Of these, to endpoints that answer slowly or fail; and of one tenant. */
const SLOW_AT_ONCE = AT_ONCE / 2;
const OF_TENANT_AT_ONCE = AT_ONCE / 4;
/** Statements, and bodies in the making, at once: connections are shared with requests. */
const STATEMENTS_AT_ONCE = 2;
const BODIES_AT_ONCE = 2;
const POLL_MS = 250;
const RETRY = { first: 100, max: 5_000 };
/** The log, the keys or the vault did not answer. */
const STORES_AWAY_MS = 5_000;
/** A suspended tenant or a disabled endpoint is looked at again. */
const NOTHING_SENT_MS = 60_000;
/** Its account has an event that this release cannot read. */
const UNREADABLE_MS = 600_000;
/** Bodies that failed are made again before; a failure that is older is past. */
const FAILURE_COUNTS_MS = 60_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_AT_ONCE = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Sends what is due. Any number of processes share the work: a delivery is claimed for a minute,
 * and is sent at least once. The body is made from the log at every attempt; it is the same each
 * time, unless a person or a code in it was forgotten meanwhile.
 */
export class WebhookSender {
  private readonly stopping = new AbortController();
  private running: Promise<unknown> | undefined;
  private readonly underWay = new Set<Promise<void>>();
  private readonly ofTenant = new Map<string, number>();
  private slow = 0;
  private wake: () => void = () => undefined;
  private readAt = 0;
  private problem: string | null = null;
  private notMade: { readonly since: number; readonly last: number } | undefined;
  private readonly statements = pLimit(STATEMENTS_AT_ONCE);
  private readonly bodies = pLimit(BODIES_AT_ONCE);

  constructor(private readonly parts: WebhookSenderParts) {}

  start(): void {
    this.readAt = elapsed();
    this.running ??= Promise.all([this.send(), this.purge()]);
  }

  /** Attempts under way end, and are recorded. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.running;
    await Promise.all(this.underWay);
  }

  /** Something may be due. */
  look(): void {
    this.wake();
  }

  status(): SenderStatus {
    const sends = this.running !== undefined && !this.stopping.signal.aborted;
    const now = elapsed();
    const { since = now, last = -Infinity } = this.notMade ?? {};
    const failsToMake = now - last < FAILURE_COUNTS_MS;
    const stillMs = Math.max(now - this.readAt, failsToMake ? now - since : 0);
    return {
      sends,
      underWay: this.underWay.size,
      stillSeconds: sends ? stillMs / 1_000 : 0,
      lastError: sends ? this.problem : null,
    };
  }

  private async send(): Promise<void> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        let claimed = 0;
        for (const areSlow of [false, true])
          for (const delivery of await this.claim(areSlow)) {
            this.begin(delivery);
            claimed += 1;
          }
        failures = 0;
        this.readAt = elapsed();
        if (this.notMade === undefined || this.readAt - this.notMade.last > FAILURE_COUNTS_MS)
          this.problem = null;
        if (claimed === 0) await this.rest(POLL_MS);
      } catch (error) {
        this.problem = describeFailure(error);
        await this.rest(backOffMs(failures++, RETRY));
      }
    }
  }

  private async claim(areSlow: boolean): Promise<readonly ClaimedDelivery[]> {
    const free = AT_ONCE - this.underWay.size;
    const deliveries = areSlow ? Math.min(free, SLOW_AT_ONCE - this.slow) : free;
    if (deliveries <= 0) return [];
    const fullTenants = [...this.ofTenant]
      .filter(([, count]) => count >= OF_TENANT_AT_ONCE)
      .map(([tenant]) => tenant);
    const leftOf = (tenant: string): number => OF_TENANT_AT_ONCE - (this.ofTenant.get(tenant) ?? 0);
    return this.statements(() =>
      claimDue(this.parts.pool, { deliveries, areSlow, fullTenants, leftOf }),
    );
  }

  private begin(delivery: ClaimedDelivery): void {
    const { tenant, isSlow } = delivery;
    this.count(tenant, isSlow, 1);
    const attempt: Promise<void> = this.attempt(delivery)
      .catch((error: unknown) => {
        // The claim lapses, and the delivery is sent again.
        this.parts.logger.warn({ error: describeFailure(error) }, 'a webhook attempt is lost');
      })
      .finally(() => {
        this.underWay.delete(attempt);
        this.count(tenant, isSlow, -1);
        this.wake();
      });
    this.underWay.add(attempt);
  }

  private count(tenant: string, isSlow: boolean, by: 1 | -1): void {
    const count = (this.ofTenant.get(tenant) ?? 0) + by;
    if (count > 0) this.ofTenant.set(tenant, count);
    else this.ofTenant.delete(tenant);
    if (isSlow) this.slow += by;
  }

  /** Until something ended or was announced, or for so long. */
  private async rest(ms: number): Promise<void> {
    const waking = new AbortController();
    this.wake = () => waking.abort();
    if (!this.stopping.signal.aborted) await pause(ms, waking.signal);
    this.wake = () => undefined;
  }

  private async attempt(delivery: ClaimedDelivery): Promise<void> {
    const { pool, post } = this.parts;
    const made = await this.made(delivery);
    if (made === 'nothing') return this.statements(() => dropDelivery(pool, delivery));
    if ('notFor' in made) return this.statements(() => postpone(pool, delivery, made));
    const at = timeNow();
    const posted = await post.post(made);
    const attempt = { at, ...(await this.attemptOf(delivery, posted)) };
    const outcome = outcomeOf(attempt.status);
    const sinceAppendMs = delivery.attempts === 0 ? at - delivery.created : undefined;
    this.parts.onAttempt?.({ outcome, sinceAppendMs });
    if (outcome === 'gone') await this.disable(delivery, made.activeSince);
    return this.statements(() => recordAttempt(pool, delivery, attempt));
  }

  /** As `make`; postponed where it failed. */
  private async made(delivery: ClaimedDelivery): Promise<Request | 'nothing' | Postponed> {
    try {
      const made = await this.bodies(() => this.make(delivery));
      this.notMade = undefined;
      return made;
    } catch (error) {
      // What else goes to the endpoint is not held up.
      if (error instanceof UnreadableEvent) return { notFor: UNREADABLE_MS, endpoint: false };
      this.problem = describeFailure(error);
      const now = elapsed();
      this.notMade = { since: this.notMade?.since ?? now, last: now };
      return { notFor: STORES_AWAY_MS, endpoint: true };
    }
  }

  /** The request; `nothing`: there is nothing to tell any more. */
  private async make(delivery: ClaimedDelivery): Promise<Request | 'nothing' | Postponed> {
    const { webhookId: id, type, mode, created } = delivery;
    const found = await this.endpointOf(delivery);
    if (found === undefined) return 'nothing';
    const { tenant, subscription } = found;
    if (tenant.suspended !== null || subscription.disabled !== null)
      return { notFor: NOTHING_SENT_MS, endpoint: true };
    const data = await this.dataOf(delivery, subscription);
    if (data === undefined) return 'nothing';
    const { alias: tenantAlias } = tenant;
    const envelope = { id, type, tenantAlias, live: mode === 'live', created, data };
    const key = await this.parts.keys.current();
    const { headers, body } = await signedWebhook(envelope, subscription.secrets, key);
    const { endpointUrl: url, activeSince } = subscription;
    return { url, headers, body, activeSince };
  }

  /** Undefined: nobody subscribes it any more. */
  private async endpointOf({ tenant, mode, endpointId }: ClaimedDelivery) {
    const { tenants, subscriptions } = this.parts;
    const foundIn = async (
      known: OpenTenant | undefined,
    ): Promise<{ tenant: OpenTenant; subscription: Subscription } | undefined> => {
      const subscription = known && (await subscriptions.of(known, mode, endpointId));
      return known && subscription && { tenant: known, subscription };
    };
    // The one in the cache may be older than the subscription.
    return (
      (await foundIn(await tenants.find(tenant))) ?? (await foundIn(await tenants.read(tenant)))
    );
  }

  /** Undefined: the log lost the event, or it is about somebody who was forgotten. */
  private async dataOf(
    { event, type, subject, tenant, mode }: ClaimedDelivery,
    { endpointUrl, name }: Subscription,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    if (event === null) return testData(endpointUrl, name);
    const { stream, revision, eventId } = event;
    const recorded = await eventAt(this.parts.log, stream, revision);
    if (recorded?.id !== eventId) return undefined;
    const { position } = recorded;
    const announced = { type, subject };
    const of = { tenant, mode, stream, revision, position, eventId, announced };
    const made = await this.parts.payloads.data(of);
    return made.kind === 'made' ? made.data : undefined;
  }

  private async attemptOf({ id }: ClaimedDelivery, posted: Posted): Promise<Omit<Attempt, 'at'>> {
    const ms = Math.round(posted.ms);
    if (posted.kind === 'failed')
      return { ms, status: null, reason: posted.reason, retryAfterMs: null, beginning: null };
    const { status, retryAfterMs, beginning } = posted;
    const sealed =
      beginning.length === 0 ? null : await this.parts.sealer.seal(beginning, answerOf(id));
    return { ms, status, reason: null, retryAfterMs, beginning: sealed };
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

  private async purge(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const before = new Date(timeNow() - KEPT_MS);
      const purged = await purgeDeliveries(this.parts.pool, before, PURGE_AT_ONCE).catch(() => 0);
      await pause(purged > 0 ? POLL_MS : PURGE_EVERY_MS, signal);
    }
  }
}

/** The sealing context of what is kept of a delivery's answers. */
export const answerOf = (deliveryId: string): string => `webhook answer ${deliveryId}`;
