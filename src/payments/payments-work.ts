import type { DailySyncs, SeenSync } from './incoming/daily-syncs.js';
import type { Received } from './incoming/payment-events.js';
import type { RewardPusher, SeenPush } from './outgoing/reward-pusher.js';
import type { PaymentFigures } from './payment-figures.js';

/** For metrics. */
export interface PaymentsObserver {
  event(received: Received): void;
  push(seen: SeenPush): void;
  sync(seen: SeenSync): void;
}

export interface PaymentsWork {
  readonly syncs: DailySyncs;
  readonly pusher: RewardPusher;
  /** @throws while the database is unavailable. */
  figures(): Promise<PaymentFigures>;
}
