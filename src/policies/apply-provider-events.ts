import type { Policy } from './policy.js';

/**
 * An account follows the customer of its payment provider: whenever the provider told something,
 * and when the account gets the customer's id. Both are recorded before they are looked at, so that
 * one of the two reactions sees both.
 */
export const applyProviderEvents: Policy = {
  name: 'apply-provider-events',
  handles: new Set(['ProviderEventReceived', 'PaymentProviderIdSet']),
  react: ({ event, stream, accountRef: account }) => {
    if (event.type === 'PaymentProviderIdSet')
      return [{ kind: 'command', account, request: { type: 'ApplyCustomer' } }];
    return event.type === 'ProviderEventReceived' && event.fact.kind !== 'IGNORED'
      ? [{ kind: 'customer', stream }]
      : [];
  },
};
