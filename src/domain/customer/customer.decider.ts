import type { Decision } from '../decision.js';
import type { SubjectId } from '../personal.js';
import {
  hasUnreleased,
  isSeen,
  type CustomerEvent,
  type CustomerState,
  type ProviderEventReceived,
} from './customer.state.js';

export type ReceiveProviderEvent = Omit<ProviderEventReceived, 'type'>;

/** Each event of the provider counts once. */
export function decide(
  state: CustomerState,
  received: ReceiveProviderEvent,
): Decision<CustomerEvent> {
  if (isSeen(state, received.eventRef)) return { events: [] };
  return { events: [{ type: 'ProviderEventReceived', ...received }] };
}

/** Sent before the account is deleted. */
export interface ReleaseCustomer {
  readonly account: SubjectId;
  readonly now: number;
}

export function release(
  state: CustomerState,
  { account, now: at }: ReleaseCustomer,
): Decision<CustomerEvent> {
  return { events: hasUnreleased(state) ? [{ type: 'CustomerReleased', at, account }] : [] };
}
