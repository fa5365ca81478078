import {
  TenantCommandEnvelope,
  type Commands,
  type TenantOutcome,
} from '../command-handling/commands.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import { modeOf, scopeOfMode, type LedgerMode, type Mode, type Scope } from '../domain/scope.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import { connectionOf, type PaymentConnection } from '../domain/tenant/payment-connections.js';
import type { PaymentProviderName } from '../domain/tenant/payment-provider-name.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { newId, timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import type { ProviderCredentials } from './payment-provider.js';

/** A connection with its decrypted secrets. */
export interface OpenedConnection extends ProviderCredentials {
  readonly connectionId: string;
  readonly provider: PaymentProviderName;
  readonly mode: Mode;
  /** Epoch milliseconds: earlier calls used another key. */
  readonly keySince: number;
  /** The replaced connection; null: there was none, or its secrets are destroyed. */
  readonly replaced: (ProviderCredentials & { readonly keySince: number }) | null;
}

interface ConnectionsParts {
  readonly commands: Commands;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly sealer: Sealer;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
  readonly names: Pick<KeyedNames, 'digest'>;
}

/**
 * The connections of tenants to their payment providers, in the tenant's stream. Their secrets are
 * encrypted with the master key and with a key that is destroyed with the connection.
 */
export class PaymentConnections {
  constructor(private readonly parts: ConnectionsParts) {}

  /** Replaces the connection of the mode; its webhook secret stays valid for `graceMs`. */
  async connect(
    meta: CommandMeta,
    { provider, ...credentials }: ProviderCredentials & { readonly provider: PaymentProviderName },
    graceMs: number,
  ): Promise<TenantOutcome> {
    const scope = scopeOfMode(meta.scope);
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
        keyRef: this.keyRef(scope, credentials),
        graceMs,
        now: timeNow(),
      }),
    );
  }

  /**
   * Ends the mode's connections after destroying their secrets. A failure in between leaves a
   * connection without secrets, and the command is repeated.
   */
  async disconnect(meta: CommandMeta): Promise<TenantOutcome> {
    const scope = scopeOfMode(meta.scope);
    const { mode } = scope;
    await this.destroy(scope, () => true);
    return this.parts.commands.execute(
      new TenantCommandEnvelope(meta, { type: 'DisconnectPaymentProvider', mode, now: timeNow() }),
    );
  }

  /** The connection for calls to the provider. */
  async current(tenant: OpenTenant, ledger: LedgerMode): Promise<OpenedConnection | undefined> {
    const mode = modeOf(ledger);
    const connection = connectionOf(tenant.payments, mode);
    const opened = connection && (await this.opened(tenant.alias, connection));
    if (connection === undefined || opened === undefined) return undefined;
    const before = tenant.payments.findLast(
      (known) => known.mode === mode && known.validUntil !== null,
    );
    const replaced = before && (await this.opened(tenant.alias, before));
    const { connectionId, provider, keySince } = connection;
    return {
      connectionId,
      mode,
      provider,
      keySince,
      ...opened,
      replaced: before && replaced ? { keySince: before.keySince, ...replaced } : null,
    };
  }

  /** Secrets of both modes, including those of replaced connections. */
  async webhookSecrets(
    tenant: OpenTenant,
  ): Promise<readonly { readonly mode: Mode; readonly secret: string }[]> {
    const now = timeNow();
    const valid = tenant.payments.filter(
      ({ validUntil }) => validUntil === null || validUntil > now,
    );
    const opened = await Promise.all(valid.map((known) => this.opened(tenant.alias, known)));
    return valid.flatMap(({ mode }, index) => {
      const secrets = opened[index];
      return secrets === undefined ? [] : [{ mode, secret: secrets.webhookSecret }];
    });
  }

  /** Distinguishes keys even after both are destroyed. */
  private keyRef(
    { tenant, mode }: Scope,
    { secretKey, apiBase }: Pick<ProviderCredentials, 'secretKey' | 'apiBase'>,
  ): string {
    return this.parts.names.digest('payment provider key', tenant, mode, secretKey, apiBase ?? '');
  }

  private async opened(
    tenant: string,
    { connectionId, mode, sealed }: PaymentConnection,
  ): Promise<ProviderCredentials | undefined> {
    if (sealed === null) return undefined;
    const context = contextOf({ tenant, mode }, connectionId);
    const plain = await this.parts.sealer.open(Buffer.from(sealed, 'base64'), context);
    return JSON.parse(plain.toString()) as ProviderCredentials;
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
