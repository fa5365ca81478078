import type { Pool } from 'pg';
import type { ReadableStreams } from '../command-handling/readable-streams.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import type { EventCodec } from '../event-log/codec.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import type { Logger } from '../foundation/logger.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import { decodeAny } from '../projecting/decode-events.js';
import { postgresAnnouncementsStore } from './deliveries/announcements-store.js';
import type { ReceiverAnswers } from './deliveries/receiver-answers.js';
import { TestDeliveries } from './deliveries/test-deliveries.js';
import { AnnouncementsHandler } from './deliveries/announcements-handler.js';
import { WebhookSender, type SeenAttempt } from './deliveries/webhook-sender.js';
import { Payloads } from './payloads/payloads.js';
import type { EndpointGuard } from './sending/endpoint-guard.js';
import { WebhookPost } from './sending/webhook-post.js';
import type { SigningKeys } from './signing/signing-keys.js';
import type { WebhookSubscriptions } from './subscriptions/webhook-subscriptions.js';

export interface WebhooksParts {
  readonly core: {
    readonly pool: Pool;
    readonly log: EventLog;
    readonly codec: EventCodec;
    readonly keys: SubjectKeys;
    readonly names: KeyedNames;
    readonly streams: Pick<ReadableStreams, 'tenantRegister'>;
    readonly tenants: TenantDirectory;
    readonly webhooks: WebhookSubscriptions;
    readonly webhookAnswers: ReceiverAnswers;
  };
  /** For followers. */
  readonly pool: Pool;
  readonly guard: EndpointGuard;
  readonly keys: SigningKeys;
  readonly logger: Logger;
  /** A position of the log that this one is a copy of. */
  readonly translate: (position: Position) => Promise<Position | undefined>;
  readonly publicUrl: () => string;
  readonly onAttempt?: (seen: SeenAttempt) => void;
}

/** From the log to the receivers: a handler writes the deliveries, and a sender sends them. */
export class Webhooks {
  readonly tests: TestDeliveries;
  readonly follower: AnnouncementsHandler;
  readonly sender: WebhookSender;
  readonly guard: EndpointGuard;
  private readonly post: WebhookPost;
  private isStarted = false;

  constructor({ core, pool, guard, keys, logger, translate, ...parts }: WebhooksParts) {
    const { publicUrl, onAttempt } = parts;
    const { log, codec, streams, names, tenants, webhooks: subscriptions } = core;
    const look = (): void => this.sender.look();
    this.guard = guard;
    this.post = new WebhookPost(guard);
    this.tests = new TestDeliveries(core.pool, look);
    this.follower = new AnnouncementsHandler({
      store: postgresAnnouncementsStore(pool),
      log,
      decode: decodeAny(codec),
      streams,
      names,
      logger,
      translate,
      onDeliveries: look,
    });
    this.sender = new WebhookSender({
      pool,
      tenants,
      subscriptions,
      payloads: new Payloads({ log, codec, keys: core.keys, names, publicUrl }),
      keys,
      post: this.post,
      answers: core.webhookAnswers,
      logger,
      ...(onAttempt && { onAttempt }),
    });
  }

  start(): void {
    this.isStarted = true;
    this.sender.start();
  }

  /** What is under way is sent and recorded. */
  async stop(): Promise<void> {
    if (this.isStarted) await this.sender.stop();
    await this.post.close();
  }
}
