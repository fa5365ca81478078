import type { Policy } from '../reacting/policy.js';

/**
 * Applies the payment provider's customer to its account: after each fact of the customer, and when
 * the account gets the customer's id. Each is recorded before the other is read, so that one of the
 * two reactions sees both. Also notes waiting events, and when a provider's last event came.
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
        // Waiting events of an imported account count with the customer's next event.
        return event.imported ? [linked] : [apply, linked];
      }
      case 'ProviderEventReceived': {
        const { at, eventRef, ids } = event;
        const heard = { kind: 'provider-note', note: { kind: 'event', at } } as const;
        // A subscription without an effect still belongs to its customer.
        if (event.fact.kind === 'IGNORED' && event.fact.because !== 'STATUS') return [heard];
        const waiting = { eventRef, subject: ids.subject, at };
        return [heard, { kind: 'customer', stream, waiting }];
      }
      default:
        return [];
    }
  },
};
