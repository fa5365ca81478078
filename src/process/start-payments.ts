import type { Core } from '../core/core.js';
import { DailySyncs } from '../payments/incoming/daily-syncs.js';
import { PaymentEvents, recorderOf } from '../payments/incoming/payment-events.js';
import { endWaitedKeys } from '../payments/incoming/waited-keys.js';
import { PostgresPaymentWork } from '../payments/outgoing/payment-work.js';
import type { RewardPayments } from '../payments/outgoing/reward-payments.js';
import { RewardPusher } from '../payments/outgoing/reward-pusher.js';
import type { PaymentProvider } from '../payments/payment-provider.js';
import type { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import type { ServiceOptions } from './service-options.js';
import type { Started } from './start-in-order.js';
import type { Stores } from './start-stores.js';

/** The provider, and what receives its events. */
export interface Payments {
  readonly events: PaymentEvents;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<PaymentProvider>;
}

/** The adapter is loaded by the first call: its package takes a good part of a start. */
export function startPayments(core: Core, guard: EndpointGuard): Started<Payments> {
  let opened: Promise<PaymentProvider> | undefined;
  const open = async (): Promise<PaymentProvider> => {
    const { StripeProvider } = await import('../payments/stripe/stripe-provider.js');
    return new StripeProvider(guard);
  };
  const provider = (): Promise<PaymentProvider> => (opened ??= open());
  const { commands, payments: connections } = core;
  const events = new PaymentEvents({ commands, connections, provider });
  return { part: { events, provider }, undo: async () => (await opened)?.close() };
}

export interface PaymentsWork {
  readonly syncs: DailySyncs;
  readonly pusher: RewardPusher;
}

/** Work beside requests, where this process works. */
export function startPaymentsWork(
  { core, background: pool, presence }: Stores,
  { provider }: Payments,
  plans: RewardPayments,
  { config, logger }: ServiceOptions,
): Started<PaymentsWork> {
  const { tenants, payments: connections, streams, names } = core;
  const syncs = new DailySyncs({
    pool,
    tenants,
    connections,
    streams,
    names,
    provider,
    presence,
    logger,
    record: recorderOf(core.commands),
    endWaitedKeys: () =>
      endWaitedKeys({ pool, streams, keys: core.keys, forget: (gone) => core.forget(gone) }),
  });
  const { commands } = core;
  const pusher = new RewardPusher({
    work: new PostgresPaymentWork(pool, presence),
    tenants,
    connections,
    streams,
    names,
    provider,
    commands,
    logger,
  });
  plans.onAsked = () => pusher.look();
  if (config.roles.has('worker')) syncs.start();
  if (config.roles.has('worker')) pusher.start();
  const undo = async (): Promise<void> => void (await Promise.all([syncs.stop(), pusher.stop()]));
  return { part: { syncs, pusher }, undo };
}
