import type { OpenTenant } from '../../../src/domain/tenant/tenant.decider.js';
import type { OpenedConnection } from '../../../src/payments/payment-connections.js';

export const connectionOf = (
  tenant: string,
  over: Partial<OpenedConnection> = {},
): OpenedConnection => ({
  connectionId: tenant,
  provider: 'stripe',
  mode: 'live',
  secretKey: tenant,
  webhookSecret: '',
  apiBase: null,
  keySince: 0,
  replaced: null,
  ...over,
});

/** Tenants of any name, of which some are suspended. */
export const tenantsBut = (suspended: () => ReadonlySet<string>) => ({
  read: (alias: string) =>
    Promise.resolve({
      alias,
      suspended: suspended().has(alias) ? { at: 0, reason: '' } : null,
    } as unknown as OpenTenant),
});
