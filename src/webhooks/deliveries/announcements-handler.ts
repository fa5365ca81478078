import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { DomainEvent } from '../../domain/events.js';
import { modeOf, type Scope } from '../../domain/scope.js';
import type { TenantEvent } from '../../domain/tenant/tenant.decider.js';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { eventAt, type EventPlace } from '../../event-log/event-pages.js';
import type { Logger } from '../../foundation/logger.js';
import { after, elapsed, timeNow } from '../../foundation/world.js';
import { scopeOfStream, type KeyedNames } from '../../privacy/keyed-names.js';
import {
  handlerStatus,
  standing,
  type HandlerStatus,
  type Progress,
} from '../../following/handler-status.js';
import { CheckpointMoved, type Handler, type HandlerTurn } from '../../following/handler.js';
import type { Page, PageEvent } from '../../projecting/page.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import { WEBHOOKS_HANDLER } from '../../reacting/parked-reactions.js';
import { Trail, type TrailPoint } from '../../following/trail.js';
import type { DecodeEvents, LedgerEvent } from '../../projecting/projector.js';
import { announcements, isAnnouncing, webhookIdOf } from './announcements.js';
import {
  nameOf,
  type EndpointChange,
  type EndpointName,
  type FollowedPage,
  type NewDelivery,
  type UnreadEvent,
} from './delivery-rows.js';
import type { AnnouncementsStore } from './announcements-store.js';
import type { ReceivedTypes } from '../subscriptions/webhook-subscriptions.js';

export interface AnnouncementsHandlerOptions {
  readonly store: AnnouncementsStore;
  readonly log: EventLog;
  readonly decode: DecodeEvents<DomainEvent>;
  readonly streams: Pick<ReadableStreams, 'tenantRegister'>;
  readonly names: KeyedNames;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** Runs after deliveries or endpoints were stored. */
  readonly onDeliveries?: () => void;
  /** The types that the endpoints of a tenant and mode receive now. */
  readonly receivedTypes: (scope: Scope) => Promise<ReceivedTypes>;
  /** Translates a position of the source of a copied log into this log; undefined: not found. */
  readonly translate: (position: Position) => Promise<Position | undefined>;
}

export interface WebhooksStatus extends HandlerStatus {
  /** Deliveries that wait to be sent, counted up to a bound. */
  readonly waiting: number;
  /** Age of the oldest of them; 0: there is none. */
  readonly oldestWaitingSeconds: number;
  /** Age of the oldest deliverable webhook without a worker. */
  readonly unsentSeconds: number;
  /** Reason of the oldest unreadable event; null: there is none. */
  readonly parkedBecause: string | null;
}

/** Longest delay of the checkpoint after pages without effect. */
const IDLE_CHECKPOINT_MS = 200;
/** Older events are not announced: their rows may have been deleted. */
const ANNOUNCED_WITHIN_MS = 30 * 24 * 3_600_000;
const UNREAD_BATCH = 1_000;
/** A leader moves the checkpoint a few times a second at most. */
const TRIES_MAX = 20;

/**
 * Follows the log and writes a row per event and endpoint, in one transaction with its checkpoint.
 * It is neither a projector nor a policy, so rebuilds and replays send nothing. The first start
 * begins at the head of the log. An event that this release cannot read is parked and announced
 * later, so the order of webhooks is not guaranteed.
 */
export class AnnouncementsHandler implements Handler<Page> {
  readonly name = WEBHOOKS_HANDLER;
  private at: Position | undefined;
  private active = new Map<string, Map<string, EndpointName>>();
  /** Of a tenant and mode, read again after a change of its endpoints. */
  private readonly types = new Map<string, ReceivedTypes>();
  private trail: Trail | undefined;
  private version = 0n;
  /** The newest point without effect that is not stored yet. */
  private passed: TrailPoint | undefined;
  private cancelIdle: (() => void) | undefined;
  private storing: Promise<void> = Promise.resolve();
  private fail: (error: unknown) => void = () => undefined;

  constructor(private readonly options: AnnouncementsHandlerOptions) {}

  get position(): Position | undefined {
    return this.at;
  }

  describe(error: unknown): string {
    return describeFailure(error);
  }

  /** @throws when the database or the log is unavailable. */
  async status(now: number, follower: Progress): Promise<WebhooksStatus> {
    const { store, log } = this.options;
    const known = await store.checkpoint();
    const position = known === undefined ? await log.head() : (known.position ?? undefined);
    const { waiting, oldest, unsentSeconds } = await store.waiting();
    const [unread] = await store.unreadEvents(1);
    return {
      ...standing(follower, WEBHOOKS_HANDLER),
      ...(await handlerStatus({ log, now }, { position, movedAt: known?.movedAt })),
      waiting,
      oldestWaitingSeconds: oldest === undefined ? 0 : Math.max(0, now - oldest) / 1_000,
      unsentSeconds,
      parkedBecause: unread?.reason ?? null,
    };
  }

  async begin(turn: HandlerTurn): Promise<void> {
    const { log, store } = this.options;
    await this.end();
    const checkpoint = (await store.checkpoint()) ?? (await this.createCheckpoint());
    const from = await this.translated(checkpoint.position);
    this.version = checkpoint.version;
    this.trail = new Trail(checkpoint.trail, (position) => log.order(position));
    this.passed = undefined;
    await this.reloadUnknown(from);
    await this.loadActive();
    await this.announceParked(await store.unreadEvents(UNREAD_BATCH));
    this.at = from;
    this.fail = (error) => turn.fail(error);
  }

  async take(page: Page): Promise<void> {
    const { log } = this.options;
    const events = page.events.filter(
      ({ recorded }) => log.compare(recorded.position, this.at) > 0,
    );
    if (events.length > 0) await this.apply(events, page);
    this.at = page.last;
  }

  async end(): Promise<void> {
    await this.storePassed().catch(() => undefined);
  }

  /** A new database starts at the head: nothing from before is sent. */
  private async createCheckpoint() {
    const { log, store } = this.options;
    const head = await log.head();
    await store.begin(head ?? null, await this.subscribedEndpoints(head));
    const begun = await store.checkpoint();
    if (begun === undefined) throw new Error('the checkpoint of webhooks is missing');
    return begun;
  }

  /** A copied log has positions of its own and can translate those of its source. */
  private async translated(position: Position | null): Promise<Position | undefined> {
    const { log, translate } = this.options;
    if (position === null || log.isPosition(position)) return position ?? undefined;
    return (await translate(position)) ?? log.head();
  }

  private async subscribedEndpoints(head: Position | undefined): Promise<EndpointChange[]> {
    const { streams, names } = this.options;
    const { state } = await streams.tenantRegister.load(names.tenantRegisterStream());
    const all: EndpointChange[] = [];
    for (const alias of state.aliases) all.push(...(await this.endpointsAt(alias, head)).values());
    return all;
  }

  /** The endpoints of a tenant at a position; the follower reads later changes itself. */
  private async endpointsAt(
    alias: string,
    position: Position | undefined,
  ): Promise<ReadonlyMap<string, EndpointChange>> {
    const { log, names, decode } = this.options;
    const known = new Map<string, EndpointChange>();
    for await (const recorded of log.readStream(names.tenantStream(alias))) {
      if (!isAboutEndpoint(recorded.type) || log.compare(recorded.position, position) > 0) continue;
      const [decoded] = await decode([recorded]);
      const change = decoded && !('undecodable' in decoded) ? endpointChangeOf(decoded) : undefined;
      if (change === undefined) continue;
      const before = known.get(nameOf(change));
      const isBegun = before === undefined || before.state === 'UNSUBSCRIBED';
      known.set(
        nameOf(change),
        isBegun ? change : { ...change, subscribedAt: before.subscribedAt },
      );
    }
    return known;
  }

  /** Reads the endpoints in state UNKNOWN from the log, up to this position. */
  private async reloadUnknown(position: Position | undefined): Promise<void> {
    const unknown = await this.options.store.endpointsInState(['UNKNOWN']);
    for (const tenant of new Set(unknown.map((endpoint) => endpoint.tenant))) {
      const known = await this.endpointsAt(tenant, position);
      const endpoints = unknown
        .filter((endpoint) => endpoint.tenant === tenant)
        .map(
          (endpoint): EndpointChange =>
            known.get(nameOf(endpoint)) ?? { ...endpoint, state: 'UNSUBSCRIBED', position: null },
        );
      await this.store({ endpoints });
    }
  }

  private async loadActive(): Promise<void> {
    this.active = new Map();
    this.types.clear();
    for (const endpoint of await this.options.store.endpointsInState(['ACTIVE']))
      this.addActive(endpoint);
  }

  private addActive({ tenant, mode, endpointId }: EndpointName): void {
    const scope = scopeNameOf({ tenant, mode });
    const known = this.active.get(scope) ?? new Map<string, EndpointName>();
    this.active.set(scope, known.set(endpointId, { tenant, mode, endpointId }));
  }

  private async apply(events: readonly PageEvent[], page: Page): Promise<void> {
    const { endpoints, deliveries: announced, unread } = this.effectsOf(events);
    for (const endpoint of endpoints) this.types.delete(scopeNameOf(endpoint));
    // One of them may have changed an endpoint.
    if (unread.length > 0) this.types.clear();
    const deliveries = await this.received(announced);
    const point = {
      reached: page.last,
      witness: { position: page.last, eventId: page.lastEventId },
    };
    if (endpoints.length + deliveries.length + unread.length === 0) {
      this.passed = point;
      this.cancelIdle ??= after(IDLE_CHECKPOINT_MS, () => {
        this.storePassed().catch((error: unknown) => this.fail(error));
      });
      return;
    }
    await this.store({ point, endpoints, deliveries, unread });
    for (const { position, reason } of unread)
      this.options.logger.error(
        { position, error: reason },
        'an event cannot be read or announced: its webhooks are parked',
      );
    if (deliveries.length > 0 || endpoints.length > 0) this.options.onDeliveries?.();
  }

  private effectsOf(events: readonly PageEvent[]) {
    const endpoints: EndpointChange[] = [];
    let deliveries: NewDelivery[] = [];
    const unread: UnreadEvent[] = [];
    const relevant = this.relevant(events);
    const announced = tryAnnouncements(relevant.flatMap(({ decoded }) => decoded ?? []));
    for (const { decoded, undecodable, recorded } of relevant) {
      const { id: eventId, stream, revision, position } = recorded;
      const park = (reason: string) => unread.push({ eventId, stream, revision, position, reason });
      if (undecodable) park(undecodable.undecodable);
      if (decoded === undefined) continue;
      const change = endpointChangeOf(decoded);
      if (change === undefined) {
        try {
          deliveries.push(...this.deliveriesOf(decoded, announced));
        } catch (error) {
          park(describeFailure(error));
        }
      } else {
        endpoints.push(change);
        // Waiting deliveries of an unsubscribed endpoint are dropped.
        if (change.state === 'UNSUBSCRIBED')
          deliveries = deliveries.filter((delivery) => nameOf(delivery) !== nameOf(change));
        if (change.state === 'ACTIVE') this.addActive(change);
        else this.active.get(scopeNameOf(change))?.delete(change.endpointId);
      }
    }
    return { endpoints, deliveries, unread };
  }

  /** The changes of endpoints, and the events that an active endpoint may receive. */
  private relevant(events: readonly PageEvent[]): readonly PageEvent[] {
    // An endpoint that is subscribed within the page receives the later events of the page.
    const isAnyBegun = events.some(
      ({ recorded: { type } }) => type === 'WebhookSubscribed' || type === 'WebhookEnabled',
    );
    return events.filter(
      ({ recorded: { type, stream } }) =>
        isAboutEndpoint(type) ||
        (isAnnouncing(stream) && (isAnyBegun || this.hasActiveEndpoint(stream))),
    );
  }

  private hasActiveEndpoint(stream: string): boolean {
    const scope = scopeOfStream(stream);
    const known = scope && this.active.get(scopeNameOf(scope));
    return known !== undefined && known.size > 0;
  }

  private deliveriesOf(
    decoded: LedgerEvent<DomainEvent>,
    together: ReturnType<typeof tryAnnouncements>,
  ): NewDelivery[] {
    const { stream, revision, eventId, recordedAt } = decoded;
    if (recordedAt < timeNow() - ANNOUNCED_WITHIN_MS) return [];
    const known = this.active.get(scopeNameOf(decoded));
    if (known === undefined || known.size === 0) return [];
    const announced = (together ?? announcements([decoded])).get(decoded) ?? [];
    return announced.flatMap(({ type, subject }) => {
      const webhookId = webhookIdOf(decoded, { type, subject });
      return [...known.values()].map((endpoint): NewDelivery => ({
        ...endpoint,
        id: deterministicId(webhookId, endpoint.endpointId),
        webhookId,
        type,
        subject,
        event: { stream, revision, eventId },
        created: recordedAt,
      }));
    });
  }

  /** Without those of types that their endpoint does not receive; the sender checks them again. */
  private async received(deliveries: readonly NewDelivery[]): Promise<NewDelivery[]> {
    const received: NewDelivery[] = [];
    for (const delivery of deliveries) {
      const types = (await this.typesIn(delivery)).get(delivery.endpointId) ?? null;
      if (types === null || types.includes(delivery.type)) received.push(delivery);
    }
    return received;
  }

  private async typesIn(scope: Scope): Promise<ReceivedTypes> {
    const known = this.types.get(scopeNameOf(scope));
    if (known !== undefined) return known;
    try {
      const types = await this.options.receivedTypes(scope);
      this.types.set(scopeNameOf(scope), types);
      return types;
    } catch {
      // A tenant that cannot be read delays no other one.
      return new Map();
    }
  }

  /** Announces parked events; the leader restarts, because its checkpoint has moved. */
  async retry(parked: readonly EventPlace[]): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        this.version = (await this.options.store.checkpoint())?.version ?? 0n;
        await this.loadActive();
        return await this.announceParked(parked);
      } catch (error) {
        if (!(error instanceof CheckpointMoved) || tries >= TRIES_MAX) throw error;
      }
  }

  /** Announces parked events to the endpoints that are active now. */
  private async announceParked(parked: readonly EventPlace[]): Promise<void> {
    const { log } = this.options;
    for (const { eventId, stream, revision } of parked) {
      const recorded = await eventAt(log, { stream, revision, eventId });
      if (recorded === undefined) {
        await this.store({ read: eventId });
        continue;
      }
      const [decoded] = await this.options.decode([recorded]);
      if (decoded === undefined || 'undecodable' in decoded) continue;
      const change = endpointChangeOf(decoded);
      if (change !== undefined) {
        await this.store({ endpoints: [{ ...change, state: 'UNKNOWN' }], read: eventId });
        await this.reloadUnknown(await log.head());
        await this.loadActive();
      } else {
        const announced = tryAnnouncements([decoded]);
        if (announced === undefined) continue;
        const deliveries = await this.received(this.deliveriesOf(decoded, announced));
        await this.store({ deliveries, read: eventId });
      }
    }
  }

  private storePassed(): Promise<void> {
    const point = this.passed;
    if (point === undefined) return Promise.resolve();
    return this.store({ point });
  }

  /** Writes run one after the other. */
  private store(page: Omit<FollowedPage, 'trail'>): Promise<void> {
    this.cancelIdle?.();
    this.cancelIdle = undefined;
    this.passed = undefined;
    this.storing = this.storing
      .catch(() => undefined)
      .then(async () => {
        const { point } = page;
        const trail = point && this.trail?.pass(point.reached, point.witness, elapsed());
        this.version = await this.options.store.storePage(this.version, { ...page, trail });
      });
    return this.storing;
  }
}

/** Undefined: one of the events cannot be announced. */
function tryAnnouncements(
  decoded: readonly LedgerEvent<DomainEvent>[],
): ReturnType<typeof announcements> | undefined {
  try {
    return announcements(decoded);
  } catch {
    return undefined;
  }
}

const scopeNameOf = ({ tenant, mode }: Scope): string => `${tenant} ${modeOf(mode)}`;

const isAboutEndpoint = (type: string): boolean => type.startsWith('Webhook');

/** Undefined: the event changes no endpoint. */
function endpointChangeOf(decoded: LedgerEvent<DomainEvent>): EndpointChange | undefined {
  const { event, tenant, position, recordedAt } = decoded;
  const state = stateAfter(event);
  if (state === undefined || !('endpointId' in event)) return undefined;
  const { mode, endpointId } = event;
  const subscribedAt = event.type === 'WebhookSubscribed' ? recordedAt : undefined;
  return { tenant, mode, endpointId, state, position, subscribedAt };
}

function stateAfter(event: DomainEvent | TenantEvent): EndpointChange['state'] | undefined {
  switch (event.type) {
    case 'WebhookSubscribed':
    case 'WebhookEnabled':
      return 'ACTIVE';
    case 'WebhookDisabled':
      return 'DISABLED';
    case 'WebhookUnsubscribed':
      return 'UNSUBSCRIBED';
    default:
      return undefined;
  }
}
