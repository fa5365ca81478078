import type { Pool } from 'pg';
import type { Core } from '../core/core.js';
import type { Logger } from '../foundation/logger.js';
import type { ProcessPresence } from '../postgres/process-presence.js';
import type { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import { PaymentEvents } from './incoming/payment-events.js';
import { PostgresPaymentWork } from './outgoing/payment-work.js';
import { RewardPayments } from './outgoing/reward-payments.js';
import { RewardPusher } from './outgoing/reward-pusher.js';
import type { PaymentProvider } from './payment-provider.js';

interface PaymentsParts {
  readonly core: Core;
  /** For followers. */
  readonly pool: Pool;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly guard: EndpointGuard;
  readonly logger: Logger;
}

/**
 * What a process does with payment providers: receives their events and pays rewards. The adapter
 * is loaded by the first call: its package takes a good part of a start.
 */
export class Payments {
  readonly events: PaymentEvents;
  readonly plans: RewardPayments;
  readonly pusher: RewardPusher;
  private opened: Promise<PaymentProvider> | undefined;

  constructor({ core, pool, presence, guard, logger }: PaymentsParts) {
    const { commands, payments: connections, tenants, streams, names } = core;
    const provider = (): Promise<PaymentProvider> => (this.opened ??= open(guard));
    this.events = new PaymentEvents({ commands, connections, provider });
    this.pusher = new RewardPusher({
      work: new PostgresPaymentWork(pool, presence),
      tenants,
      connections,
      provider,
      commands,
      streams,
      names,
      logger,
    });
    this.plans = new RewardPayments({
      pool,
      tenants,
      streams,
      onAsked: () => this.pusher.look(),
    });
  }

  async stop(): Promise<void> {
    await this.pusher.stop();
    await (await this.opened)?.close();
  }
}

async function open(guard: EndpointGuard): Promise<PaymentProvider> {
  const { StripeProvider } = await import('./stripe/stripe-provider.js');
  return new StripeProvider(guard);
}
