import type { Core } from '../core/core.js';
import { PaymentEvents } from '../payments/incoming/payment-events.js';
import { StripeProvider } from '../payments/stripe/stripe-provider.js';
import type { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import type { Started } from './start-in-order.js';

/** The payment provider's adapter, and what receives its events. */
export function startPayments(core: Core, guard: EndpointGuard): Started<PaymentEvents> {
  const provider = new StripeProvider(guard);
  const { commands, payments: connections } = core;
  const part = new PaymentEvents({ commands, connections, provider });
  return { part, undo: () => provider.close() };
}
