import type { Policy } from '../reacting/policy.js';

/**
 * An account follows the customer of its payment provider: whenever the provider told something,
 * and when the account gets the customer's id. Both are recorded before they are looked at, so that
 * one of the two reactions sees both. What waits, and when a provider was heard of, is noted.
 */
export const applyProviderEvents: Policy = {
  name: 'apply-provider-events',
  handles: new Set(['ProviderEventReceived', 'PaymentProviderIdSet', 'PaymentProviderConnected']),
  react: ({ event, stream, accountRef: account }) => {
    switch (event.type) {
      case 'PaymentProviderConnected':
        return [{ kind: 'provider-note', note: { kind: 'connected', mode: event.mode } }];
      case 'PaymentProviderIdSet': {
        const { value: customer } = event.paymentProviderId;
        const apply = { kind: 'command', account, request: { type: 'ApplyCustomer' } } as const;
        if (customer === null) return event.imported ? [] : [apply];
        const linked = { kind: 'provider-note', note: { kind: 'linked', customer } } as const;
        // What waits for an imported account counts with the next event of the customer.
        return event.imported ? [linked] : [apply, linked];
      }
      case 'ProviderEventReceived': {
        const { at, eventRef, ids } = event;
        const heard = { kind: 'provider-note', note: { kind: 'event', at } } as const;
        // A subscription without an effect is its customer's all the same.
        if (event.fact.kind === 'IGNORED' && event.fact.because !== 'STATUS') return [heard];
        const waiting = { eventRef, subject: ids.subject, at };
        return [heard, { kind: 'customer', stream, waiting }];
      }
      default:
        return [];
    }
  },
};
