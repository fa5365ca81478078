import { isStoreAway, type Core } from '../../stores/core.js';
import type { DomainEvent } from '../../domain/events.js';
import type { Scope } from '../../domain/scope.js';
import { LogWentBack, type Position, type RecordedEvent } from '../../event-log/event-log.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { scopeOfStream } from '../../privacy/keyed-names.js';
import { decodeAny } from '../../projecting/decode-events.js';
import type { LedgerEvent } from '../../projecting/projector.js';
import {
  announcements,
  isAnnouncing,
  webhookIdOf,
} from '../../webhooks/deliveries/announcements.js';
import type { Announced, WebhookType } from '../../webhooks/payloads/announced.js';
import { Payloads } from '../../webhooks/payloads/payloads.js';
import type { WebhookForwarder } from '../../webhooks/sending/webhook-forwarder.js';
import type { Posted } from '../../webhooks/sending/webhook-post.js';
import type { WebhookEnvelope } from '../../webhooks/signing/signed-webhook.js';
import type { NotDone } from '../outcome.js';
import { tenantMissing } from '../tenants/tenant-operation.js';

export interface ListenRequest {
  /** Undefined: all types. */
  readonly types: readonly WebhookType[] | undefined;
  /** Undefined: nothing is forwarded. */
  readonly forwarder: Pick<WebhookForwarder, 'forward'> | undefined;
  /** The service's external address, for links. */
  readonly publicUrl: string;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** What is reported meanwhile, in this order. */
export interface ListenReports {
  /** What is recorded from now on is reported. */
  readonly began: () => void;
  readonly webhook: (envelope: WebhookEnvelope) => void;
  readonly forwarded: (envelope: WebhookEnvelope, posted: Posted) => void;
  /** One line. */
  readonly problem: (line: string) => void;
}

type ListenCore = Pick<Core, 'log' | 'codec' | 'keys' | 'names' | 'tenants' | 'forget'>;

const PAGE = 500;
const RETRY = { first: 100, max: 5_000 };

/**
 * Reports what a subscription of the tenant and mode would be sent from now on, until the signal
 * aborts. It follows the log by itself and stores nothing. It waits while the stores are away.
 * @throws when they are away at the start.
 */
export async function listenToWebhooks(
  core: ListenCore,
  scope: Scope,
  request: ListenRequest,
  reports: ListenReports,
): Promise<NotDone | undefined> {
  const unknown = await tenantMissing(core, scope);
  if (unknown) return unknown;
  const listener = new Listener(core, scope, request, reports);
  let from = await core.log.head();
  reports.began();
  while (!request.signal.aborted) {
    try {
      await listener.follow(from);
    } catch (error) {
      if (!(error instanceof LogWentBack)) throw error;
      reports.problem('the log lost its end: listening from where it ends now');
      from = await listener.whenStoresAnswer(() => core.log.head());
    }
  }
  return undefined;
}

class Listener {
  private readonly payloads: Payloads;

  constructor(
    private readonly core: ListenCore,
    private readonly scope: Scope,
    private readonly request: ListenRequest,
    private readonly reports: ListenReports,
  ) {
    const { log, codec, keys, names } = core;
    const publicUrl = (): string => request.publicUrl;
    this.payloads = new Payloads({ log, codec, keys, names, publicUrl });
  }

  async follow(from: Position | undefined): Promise<void> {
    const { signal } = this.request;
    for await (const page of this.core.log.follow(from, { signal, pageSize: PAGE }))
      await this.take(page);
  }

  /** Tries until the stores answer; undefined: it was ended before. */
  async whenStoresAnswer<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.request;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isStoreAway(error)) throw error;
        if (failures === 0) this.reports.problem('the database or the log is away: waiting for it');
        await pause(backOffMs(failures, RETRY), signal);
      }
    }
    return undefined;
  }

  private async take(page: readonly RecordedEvent[]): Promise<void> {
    const own = page.filter(({ stream }) => isAnnouncing(stream) && this.isOfScope(stream));
    if (own.length === 0) return;
    // Nobody tells this process who was forgotten meanwhile.
    this.core.forget();
    const all = (await this.whenStoresAnswer(() => decodeAny(this.core.codec)(own))) ?? [];
    for (const decoded of all)
      if ('undecodable' in decoded)
        this.reports.problem(`an event cannot be read: ${decoded.undecodable}`);
    for (const [decoded, announced] of announcements(all))
      for (const each of announced) await this.tell(decoded, each);
  }

  private isOfScope(stream: string): boolean {
    const of = scopeOfStream(stream);
    return of?.tenant === this.scope.tenant && of.mode === this.scope.mode;
  }

  private async tell(decoded: LedgerEvent<DomainEvent>, announced: Announced): Promise<void> {
    const { types, forwarder, signal } = this.request;
    if (types !== undefined && !types.includes(announced.type)) return;
    const envelope = await this.whenStoresAnswer(() => this.envelopeOf(decoded, announced));
    if (envelope === undefined || signal.aborted) return;
    this.reports.webhook(envelope);
    if (forwarder === undefined) return;
    const posted = await this.whenStoresAnswer(() => forwarder.forward(envelope, signal));
    if (posted !== undefined && !signal.aborted) this.reports.forwarded(envelope, posted);
  }

  /** Undefined: there is nothing to tell. */
  private async envelopeOf(
    decoded: LedgerEvent<DomainEvent>,
    announced: Announced,
  ): Promise<WebhookEnvelope | undefined> {
    const { tenant, mode } = this.scope;
    const { stream, revision, position, eventId, recordedAt: created } = decoded;
    const of = { tenant, mode, stream, revision, position, eventId, announced };
    const made = await this.payloads.data(of).catch((error: unknown) => {
      if (!(error instanceof UnreadableEvent)) throw error;
      this.reports.problem(`${announced.type} cannot be made: its account has an unreadable event`);
      return undefined;
    });
    if (made?.kind !== 'made') return undefined;
    const id = webhookIdOf(decoded, announced);
    const { type } = announced;
    return { id, type, tenantAlias: tenant, live: mode === 'live', created, data: made.data };
  }
}
