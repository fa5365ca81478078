import { TenantCommandEnvelope, type Commands } from '../command-handling/commands.js';
import type { TenantDirectory } from '../command-handling/tenant-directory.js';
import type { Refused } from '../domain/refusal.js';
import type { Mode, Scope } from '../domain/scope.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import { connectionOf, type PaymentConnection } from '../domain/tenant/payment-connections.js';
import type { PaymentProviderName } from '../domain/tenant/payment-provider-name.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { newId, timeNow } from '../foundation/world.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import type { ProviderCredentials } from './payment-provider.js';

/** A connection with its secrets. */
export interface OpenedConnection extends ProviderCredentials {
  readonly connectionId: string;
  readonly provider: PaymentProviderName;
  readonly mode: Mode;
}

interface ConnectionsParts {
  readonly commands: Commands;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  /** Encrypts the secrets. */
  readonly sealer: Sealer;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
}

/**
 * The connections of tenants to their payment providers, kept in the tenant's stream. The secrets
 * are encrypted with the master key, and with a key of their connection that ends with it.
 */
export class PaymentConnections {
  constructor(private readonly parts: ConnectionsParts) {}

  /** Replaces the connection of the mode, whose webhook secret verifies for `graceMs`. */
  async connect(
    meta: CommandMeta,
    { provider, ...credentials }: ProviderCredentials & { readonly provider: PaymentProviderName },
    graceMs: number,
  ): Promise<OpenTenant | Refused> {
    const { scope } = meta;
    const subject = newId();
    const { secretKey, webhookSecret, apiBase } = credentials;
    const plain = Buffer.from(JSON.stringify({ secretKey, webhookSecret, apiBase }));
    const value = await this.parts.sealer.seal(plain, contextOf(scope, subject));
    const secrets = { subject, value: value.toString('base64') };
    await this.destroy(scope, ({ validUntil }) => validUntil !== null);
    return this.parts.commands.execute(
      new TenantCommandEnvelope(meta, {
        type: 'ConnectPaymentProvider',
        mode: scope.mode,
        provider,
        secrets,
        graceMs,
        now: timeNow(),
      }),
    );
  }

  /**
   * Destroys the secrets of the mode's connections, and ends them. The secrets go first: what fails
   * between leaves a connection that opens nothing, and is repeated.
   */
  async disconnect(meta: CommandMeta): Promise<OpenTenant | Refused> {
    const { mode } = meta.scope;
    await this.destroy(meta.scope, () => true);
    return this.parts.commands.execute(
      new TenantCommandEnvelope(meta, { type: 'DisconnectPaymentProvider', mode, now: timeNow() }),
    );
  }

  /** The connection that calls the provider; undefined: there is none. */
  async current(tenant: OpenTenant, mode: Mode): Promise<OpenedConnection | undefined> {
    const connection = connectionOf(tenant.payments, mode);
    return connection && this.opened(tenant.alias, connection);
  }

  /** Of both modes, those of replaced connections included. */
  async webhookSecrets(
    tenant: OpenTenant,
  ): Promise<readonly { readonly mode: Mode; readonly secret: string }[]> {
    const now = timeNow();
    const valid = tenant.payments.filter(
      ({ validUntil }) => validUntil === null || validUntil > now,
    );
    const opened = await Promise.all(valid.map((known) => this.opened(tenant.alias, known)));
    return opened.flatMap((known) =>
      known === undefined ? [] : [{ mode: known.mode, secret: known.webhookSecret }],
    );
  }

  private async opened(
    tenant: string,
    connection: PaymentConnection,
  ): Promise<OpenedConnection | undefined> {
    const { connectionId, mode, provider, sealed } = connection;
    if (sealed === null) return undefined;
    const context = contextOf({ tenant, mode }, connectionId);
    const plain = await this.parts.sealer.open(Buffer.from(sealed, 'base64'), context);
    const credentials = JSON.parse(plain.toString()) as ProviderCredentials;
    return { connectionId, mode, provider, ...credentials };
  }

  private async destroy(
    { tenant: alias, mode }: Scope,
    isEnded: (connection: PaymentConnection) => boolean,
  ): Promise<void> {
    const tenant = await this.parts.tenants.read(alias);
    const ended = (tenant?.payments ?? []).filter((known) => known.mode === mode && isEnded(known));
    if (ended.length > 0)
      await this.parts.keys.destroy(ended.map(({ connectionId }) => connectionId));
  }
}

const contextOf = ({ tenant, mode }: Scope, connectionId: string): string =>
  `payment ${tenant} ${mode} ${connectionId}`;
