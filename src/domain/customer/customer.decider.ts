import type { Decision } from '../decision.js';
import type { CustomerEvent, CustomerState } from './customer.state.js';

export type ReceiveProviderEvent = Omit<CustomerEvent, 'type'>;

/** Each event of the provider counts once. */
export function decide(
  state: CustomerState,
  received: ReceiveProviderEvent,
): Decision<CustomerEvent> {
  if (state.seen.has(received.eventRef)) return { events: [] };
  return { events: [{ type: 'ProviderEventReceived', ...received }] };
}
