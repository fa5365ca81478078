import * as z from 'zod';
import { isStoreUnavailable, type Core } from '../../stores/core.js';
import type { DomainEvent } from '../../domain/events.js';
import { modeOf, type Scope } from '../../domain/scope.js';
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
import {
  WEBHOOK_TYPES,
  type Announced,
  type WebhookType,
} from '../../webhooks/payloads/announced.js';
import { Payloads } from '../../webhooks/payloads/payloads.js';
import { WebhookForwarder } from '../../webhooks/sending/webhook-forwarder.js';
import type { PostResult } from '../../webhooks/sending/webhook-post.js';
import type { WebhookEnvelope } from '../../webhooks/signing/signed-webhook.js';
import { SigningKeys } from '../../webhooks/signing/signing-keys.js';
import { given, json } from '../registry/members.js';
import { ledgerOperation } from '../registry/operation.js';
import { lineOf } from './webhook-line.js';
import { forwardTo } from './webhook-members.js';

/** What the listener works with, and reports meanwhile. */
interface Listens {
  /** Undefined: all types. */
  readonly types: readonly WebhookType[] | undefined;
  readonly forwarder: WebhookForwarder | undefined;
  /** The service's external address, for links. */
  readonly publicUrl: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly webhook: (envelope: WebhookEnvelope) => Promise<void>;
  /** One line. */
  readonly note: (line: string) => void;
}

type ListenCore = Pick<Core, 'log' | 'codec' | 'keys' | 'names' | 'tenants' | 'forget'>;

const types = given(
  z.array(z.enum(WEBHOOK_TYPES, `takes some of ${WEBHOOK_TYPES.join(',')}`)).optional(),
  {
    placeholder: 'types',
    hasCommas: true,
    help: `some of ${WEBHOOK_TYPES.join(',')}; default: all`,
  },
);

const PAGE = 500;
const RETRY = { first: 100, max: 5_000 };

/**
 * Prints what a subscription of the tenant and mode would be sent from now on, until the signal
 * aborts or standard output is closed. It follows the log by itself and stores nothing. It waits
 * while the stores are away. @throws when they are away at the start.
 */
export const listen = ledgerOperation({
  name: 'webhook listen',
  summary: 'a line for each event from now on, and a signed POST, until Ctrl-C',
  members: { forwardTo, types, json },
  roles: ['support'],
  output: 'stream',
  examples: ['webhook listen acme --mode test --forward-to http://127.0.0.1:4000/hooks'],
  run: async (context, { types: some, forwardTo: to, json: isJson }) => {
    const { core, scope, note, write } = context;
    const closed = new AbortController();
    const signal = AbortSignal.any([context.signal, closed.signal]);
    const keys = new SigningKeys(core.pool, core.webhookKeysSealer);
    const forwarder = to === undefined ? undefined : new WebhookForwarder(to, keys);
    const webhook = (envelope: WebhookEnvelope): Promise<void> =>
      write(`${isJson ? JSON.stringify(envelope) : lineOf(envelope)}\n`).catch(() =>
        closed.abort(),
      );
    const publicUrl = context.payments.publicUrl();
    const listens = { types: some, forwarder, publicUrl, signal, webhook, note };
    const listener = new Listener(core, scope, listens);
    try {
      let from = await core.log.head();
      if (forwarder) note(`forwarding to ${to}, with the secret ${forwarder.secret}`);
      note(`listening to ${scope.tenant} (${modeOf(scope.mode)}) until Ctrl-C`);
      while (!signal.aborted) {
        try {
          await listener.follow(from);
        } catch (error) {
          if (!(error instanceof LogWentBack)) throw error;
          note('the log lost its end: listening from where it ends now');
          from = await listener.whenStoresAnswer(() => core.log.head());
        }
      }
      return null;
    } finally {
      await forwarder?.close();
    }
  },
});

class Listener {
  private readonly payloads: Payloads;

  constructor(
    private readonly core: ListenCore,
    private readonly scope: Scope,
    private readonly listens: Listens,
  ) {
    const { log, codec, keys, names } = core;
    const publicUrl = (): string => listens.publicUrl;
    this.payloads = new Payloads({ log, codec, keys, names, publicUrl });
  }

  async follow(from: Position | undefined): Promise<void> {
    const { signal } = this.listens;
    for await (const page of this.core.log.follow(from, { signal, pageSize: PAGE }))
      await this.take(page);
  }

  /** Tries until the stores answer; undefined: it was ended before. */
  async whenStoresAnswer<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.listens;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isStoreUnavailable(error)) throw error;
        if (failures === 0) this.listens.note('the database or the log is away: waiting for it');
        await pause(backOffMs(failures, RETRY), signal);
      }
    }
    return undefined;
  }

  private async take(page: readonly RecordedEvent[]): Promise<void> {
    const own = page.filter(({ stream }) => isAnnouncing(stream) && this.isOfScope(stream));
    if (own.length === 0) return;
    // This process does not learn who was forgotten meanwhile.
    this.core.forget();
    const all = (await this.whenStoresAnswer(() => decodeAny(this.core.codec)(own))) ?? [];
    for (const decoded of all)
      if ('undecodable' in decoded)
        this.listens.note(`an event cannot be read: ${decoded.undecodable}`);
    for (const [decoded, announced] of announcements(all))
      for (const each of announced) await this.tell(decoded, each);
  }

  private isOfScope(stream: string): boolean {
    const of = scopeOfStream(stream);
    // Of the mode: removing the test data begins another ledger of it.
    return of?.tenant === this.scope.tenant && modeOf(of.mode) === modeOf(this.scope.mode);
  }

  private async tell(decoded: LedgerEvent<DomainEvent>, announced: Announced): Promise<void> {
    const { types, forwarder, signal } = this.listens;
    if (types !== undefined && !types.includes(announced.type)) return;
    const envelope = await this.whenStoresAnswer(() => this.envelopeOf(decoded, announced));
    if (envelope === undefined || signal.aborted) return;
    await this.listens.webhook(envelope);
    if (forwarder === undefined) return;
    const posted = await this.whenStoresAnswer(() => forwarder.forward(envelope, signal));
    if (posted !== undefined && !signal.aborted) this.noteForwarded(envelope, posted);
  }

  private noteForwarded({ id, type }: WebhookEnvelope, posted: PostResult): void {
    const { note } = this.listens;
    if (posted.kind === 'failed') note(`${type} ${id} was not forwarded: ${posted.reason}`);
    else if (posted.status < 200 || posted.status > 299)
      note(`${type} ${id} was answered with ${posted.status}`);
  }

  /** Undefined: there is nothing to tell. */
  private async envelopeOf(
    decoded: LedgerEvent<DomainEvent>,
    announced: Announced,
  ): Promise<WebhookEnvelope | undefined> {
    const { tenant, mode, stream, revision, position, eventId, recordedAt } = decoded;
    const of = { tenant, mode, stream, revision, position, eventId, announced };
    const made = await this.payloads.data(of).catch((error: unknown) => {
      if (!(error instanceof UnreadableEvent)) throw error;
      this.listens.note(`${announced.type} cannot be made: its account has an unreadable event`);
      return undefined;
    });
    if (made?.kind !== 'made') return undefined;
    const id = webhookIdOf(decoded, announced);
    const { type } = announced;
    const created = made.created ?? recordedAt;
    return { id, type, tenantAlias: tenant, live: mode === 'live', created, data: made.data };
  }
}
