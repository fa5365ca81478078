import { TenantCommandEnvelope, type Commands } from '../../command-handling/commands.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { Refused } from '../../domain/refusal.js';
import { modeOf, scopeOfMode, type LedgerMode, type Scope } from '../../domain/scope.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type {
  DisabledBecause,
  EndpointSecret,
  WebhookCommand,
  WebhookEndpoint,
} from '../../domain/tenant/webhook-endpoints.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import { newBytes, timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { Sealer } from '../../privacy/sealed-bytes.js';
import type { WebhookType } from '../payloads/announced.js';
import { newEndpointSecret } from '../signing/signed-webhook.js';

export interface SubscriptionChoices {
  readonly name: string | null;
  /** The types that the endpoint receives; null: all. */
  readonly eventTypes: readonly WebhookType[] | null;
}

/** A subscription as its tenant sees it. */
export interface Subscription extends SubscriptionChoices {
  readonly endpointId: string;
  /** In its first spelling. */
  readonly endpointUrl: string;
  readonly disabled: WebhookEndpoint['disabled'];
  /** Time of the first subscription since the last unsubscription. */
  readonly subscribedAt: number;
  /** Time of the last subscription or enabling. */
  readonly activeSince: number;
  /** Signing secrets (`whsec_…`), newest first. */
  readonly secrets: readonly string[];
  readonly newestSecretId: string;
}

/** By the id of the endpoint; null: all types. */
export type ReceivedTypes = ReadonlyMap<string, Subscription['eventTypes']>;

export interface ChangedSubscription {
  /** Undefined: unsubscribed. */
  readonly subscription: Subscription | undefined;
  /** The command created it: this is the only time that its secret is shown. */
  readonly isNew: boolean;
  readonly position: Position | null;
  readonly replayed: boolean;
}

interface SubscriptionsParts {
  readonly commands: Commands;
  readonly tenants: Pick<TenantDirectory, 'read' | 'readFresh'>;
  readonly names: KeyedNames;
  readonly sealer: Sealer;
}

/**
 * The subscriptions of a tenant and mode, stored in the tenant's stream with URL, name and secrets
 * encrypted. Subscribing a URL again returns the same subscription.
 */
export class WebhookSubscriptions {
  constructor(private readonly parts: SubscriptionsParts) {}

  /**
   * @param endpointUrl a checked URL.
   * @param choices missing ones keep the values of the existing subscription.
   */
  async subscribe(
    meta: CommandMeta,
    endpointUrl: string,
    choices: { readonly [K in keyof SubscriptionChoices]?: SubscriptionChoices[K] | undefined },
  ): Promise<ChangedSubscription | Refused> {
    const scope = scopeOfMode(meta.scope);
    const known = await this.find(scope, endpointUrl);
    const { name = known?.name ?? null, eventTypes = known?.eventTypes ?? null } = choices;
    const endpointId = this.idOf(scope, endpointUrl);
    const content = JSON.stringify({ endpointUrl, name, ...(eventTypes && { eventTypes }) });
    return this.change(meta, {
      type: 'SubscribeWebhook',
      mode: scope.mode,
      endpointId,
      sealed: await this.seal(content, contentContext(scope, endpointId)),
      digest: this.parts.names.digest('webhook content', scope.tenant, scope.mode, content),
      secret: await this.newSecret(scope, endpointId),
      now: timeNow(),
    });
  }

  unsubscribe(meta: CommandMeta, endpointUrl: string): Promise<ChangedSubscription | Refused> {
    const { mode } = scopeOfMode(meta.scope);
    const endpointId = this.idOf(meta.scope, endpointUrl);
    return this.change(meta, { type: 'UnsubscribeWebhook', mode, endpointId, now: timeNow() });
  }

  enable(meta: CommandMeta, endpointUrl: string): Promise<ChangedSubscription | Refused> {
    const { mode } = scopeOfMode(meta.scope);
    const endpointId = this.idOf(meta.scope, endpointUrl);
    return this.change(meta, { type: 'EnableWebhook', mode, endpointId, now: timeNow() });
  }

  /** Does nothing if the endpoint was subscribed or enabled after `activeSince`. */
  disable(
    meta: CommandMeta,
    which: {
      readonly endpointId: string;
      readonly activeSince: number;
      readonly because: DisabledBecause;
    },
  ): Promise<ChangedSubscription | Refused> {
    const { mode } = scopeOfMode(meta.scope);
    return this.change(meta, { type: 'DisableWebhook', mode, ...which, now: timeNow() });
  }

  /**
   * The present secret also signs for the grace period, milliseconds.
   * @param seen id of the newest secret that the operator saw; refused if it has changed.
   */
  async rotateSecret(
    meta: CommandMeta,
    endpointUrl: string,
    { graceMs, seen }: { readonly graceMs: number; readonly seen?: string | undefined },
  ): Promise<ChangedSubscription | Refused> {
    const scope = scopeOfMode(meta.scope);
    const endpointId = this.idOf(scope, endpointUrl);
    return this.change(meta, {
      type: 'RotateWebhookSecret',
      mode: scope.mode,
      endpointId,
      secret: await this.newSecret(scope, endpointId),
      graceMs,
      seen,
      now: timeNow(),
    });
  }

  /** In the order of their subscription. */
  async list(scope: Scope): Promise<readonly Subscription[]> {
    const { tenant, mode } = scopeOfMode(scope);
    const known = await this.parts.tenants.read(tenant);
    const own = (known?.webhooks ?? []).filter((endpoint) => endpoint.mode === mode);
    return Promise.all(own.map((endpoint) => this.opened({ tenant, mode }, endpoint)));
  }

  async find(scope: Scope, endpointUrl: string): Promise<Subscription | undefined> {
    const endpointId = this.idOf(scope, endpointUrl);
    return (await this.list(scope)).find((known) => known.endpointId === endpointId);
  }

  async of(
    tenant: OpenTenant,
    ledger: LedgerMode,
    endpointId: string,
  ): Promise<Subscription | undefined> {
    const mode = modeOf(ledger);
    const endpoint = tenant.webhooks.find(
      (known) => known.mode === mode && known.endpointId === endpointId,
    );
    return endpoint && this.opened({ tenant: tenant.alias, mode }, endpoint);
  }

  /** Includes everything recorded before the call. */
  async receivedTypes({ tenant, mode }: Scope): Promise<ReceivedTypes> {
    await this.parts.tenants.readFresh(tenant);
    const own = await this.list({ tenant, mode });
    return new Map(own.map(({ endpointId, eventTypes }) => [endpointId, eventTypes]));
  }

  /** Two spellings of one URL are one endpoint. */
  idOf({ tenant, mode }: Scope, endpointUrl: string): string {
    const url = URL.canParse(endpointUrl) ? new URL(endpointUrl).href : endpointUrl;
    return this.parts.names.digest('webhook endpoint', tenant, modeOf(mode), url).slice(0, 32);
  }

  private async change(
    meta: CommandMeta,
    command: WebhookCommand,
  ): Promise<ChangedSubscription | Refused> {
    const { idempotency } = meta;
    // Both modes share the stream, so the key is prefixed with the mode.
    const keyed = idempotency && { ...idempotency, key: `${command.mode} ${idempotency.key}` };
    const changed = await this.parts.commands.execute(
      new TenantCommandEnvelope({ ...meta, idempotency: keyed }, command),
    );
    if ('refused' in changed) return changed;
    const { tenant, position, replayed } = changed;
    const subscription = await this.of(tenant, command.mode, command.endpointId);
    return { subscription, isNew: isCreated(command, tenant, replayed), position, replayed };
  }

  private async opened(scope: Scope, endpoint: WebhookEndpoint): Promise<Subscription> {
    const { endpointId, sealed, disabled, subscribedAt, activeSince, secrets } = endpoint;
    const {
      endpointUrl,
      name,
      eventTypes = null,
    } = JSON.parse(await this.open(sealed, contentContext(scope, endpointId))) as Pick<
      Subscription,
      'endpointUrl' | 'name'
    > &
      Partial<SubscriptionChoices>;
    const now = timeNow();
    const valid = secrets.filter(({ validUntil }) => validUntil === null || validUntil > now);
    const secretsOf = valid.map((secret) =>
      this.open(secret.sealed, secretContext(scope, endpointId, secret)),
    );
    const opened = await Promise.all(secretsOf);
    const since = { subscribedAt, activeSince };
    const newestSecretId = secrets.at(-1)?.secretId ?? '';
    const names = { endpointId, endpointUrl, name, eventTypes, newestSecretId };
    return { ...names, disabled, ...since, secrets: opened.reverse() };
  }

  private async newSecret(scope: Scope, endpointId: string): Promise<EndpointSecret> {
    const secretId = newBytes(4).toString('hex');
    const sealed = await this.seal(
      newEndpointSecret(),
      secretContext(scope, endpointId, { secretId }),
    );
    return { secretId, sealed };
  }

  private async seal(plain: string, context: string): Promise<string> {
    return (await this.parts.sealer.seal(Buffer.from(plain), context)).toString('base64');
  }

  private async open(sealed: string, context: string): Promise<string> {
    return (await this.parts.sealer.open(Buffer.from(sealed, 'base64'), context)).toString();
  }
}

/** Whether the command created the subscription, also when it is repeated. */
function isCreated(command: WebhookCommand, { webhooks }: OpenTenant, replayed: boolean): boolean {
  if (command.type !== 'SubscribeWebhook') return false;
  const endpoint = webhooks.find(
    ({ mode, endpointId }) => mode === command.mode && endpointId === command.endpointId,
  );
  const [first, ...more] = endpoint?.secrets ?? [];
  if (more.length > 0 || endpoint?.subscribedAt !== endpoint?.activeSince) return false;
  return replayed || first?.secretId === command.secret.secretId;
}

const contentContext = ({ tenant, mode }: Scope, endpointId: string): string =>
  `webhook ${tenant} ${mode} ${endpointId}`;

const secretContext = (
  scope: Scope,
  endpointId: string,
  { secretId }: Pick<EndpointSecret, 'secretId'>,
): string => `${contentContext(scope, endpointId)} secret ${secretId}`;
