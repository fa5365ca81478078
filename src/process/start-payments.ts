import type { Core } from '../core/core.js';
import { PaymentEvents } from '../payments/incoming/payment-events.js';
import type { PaymentProvider } from '../payments/payment-provider.js';
import type { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import type { Started } from './start-in-order.js';

/**
 * What receives the events of payment providers. The adapter is loaded by the first of them: its
 * package takes a good part of a start.
 */
export function startPayments(core: Core, guard: EndpointGuard): Started<PaymentEvents> {
  let opened: Promise<PaymentProvider> | undefined;
  const open = async (): Promise<PaymentProvider> => {
    const { StripeProvider } = await import('../payments/stripe/stripe-provider.js');
    return new StripeProvider(guard);
  };
  const provider = (): Promise<PaymentProvider> => (opened ??= open());
  const { commands, payments: connections } = core;
  const part = new PaymentEvents({ commands, connections, provider });
  return { part, undo: async () => (await opened)?.close() };
}
