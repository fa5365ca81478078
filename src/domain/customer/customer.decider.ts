import type { Decision } from '../decision.js';
import { isSeen, type CustomerEvent, type CustomerState } from './customer.state.js';

export type ReceiveProviderEvent = Omit<CustomerEvent, 'type'>;

/** Each event of the provider counts once. */
export function decide(
  state: CustomerState,
  received: ReceiveProviderEvent,
): Decision<CustomerEvent> {
  if (isSeen(state, received.eventRef)) return { events: [] };
  return { events: [{ type: 'ProviderEventReceived', ...received }] };
}
