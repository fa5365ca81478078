import type { DailySyncs, ObservedSync } from './incoming/daily-syncs.js';
import type { ReceivedEvent } from './incoming/payment-events.js';
import type { RewardPusher, ObservedPush } from './outgoing/reward-pusher.js';
import type { PaymentFigures } from './payment-figures.js';

export interface PaymentsObserver {
  event(received: ReceivedEvent): void;
  push(seen: ObservedPush): void;
  sync(seen: ObservedSync): void;
}

export interface PaymentsWork {
  readonly syncs: DailySyncs;
  readonly pusher: RewardPusher;
  /** @throws while the database is unavailable. */
  figures(): Promise<PaymentFigures>;
}
