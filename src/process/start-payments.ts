import { rewardsProjector } from '../../projections/rewards/projector.js';
import { PushQueries } from '../../projections/rewards/queries.js';
import type { Core } from '../stores/core.js';
import { DailySyncs } from '../payments/incoming/daily-syncs.js';
import { PaymentEvents, recorderOf } from '../payments/incoming/payment-events.js';
import { providerRows } from '../payments/incoming/payment-rows.js';
import { destroyExpiredKeys } from '../payments/incoming/expired-customer-keys.js';
import { workStore } from '../work-queue/work-items.js';
import type { RewardPayments } from '../payments/outgoing/reward-payments.js';
import { RewardPusher } from '../payments/outgoing/reward-pusher.js';
import { paymentFigures, type PaymentFigures } from '../payments/payment-figures.js';
import type { PaymentProvider } from '../payments/payment-provider.js';
import { announceErasure } from '../postgres/announcements.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import { LiveGenerations } from '../projecting/generations/live-generations.js';
import type { PaymentsObserver, PaymentsWork } from '../payments/payments-work.js';
import type { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import type { ServiceOptions } from './service-options.js';
import type { OnStop } from './start-in-order.js';
import type { Stores } from './start-stores.js';

export type Payments = ReturnType<typeof openPayments>;

/** The provider and the receiver of its events. The adapter is loaded on first use: it is large. */
export function openPayments(
  core: Core,
  guard: EndpointGuard,
  observe: PaymentsObserver,
  onStop: OnStop,
) {
  let opened: Promise<PaymentProvider> | undefined;
  const open = async (): Promise<PaymentProvider> => {
    const { StripeProvider } = await import('../payments/stripe/stripe-provider.js');
    return new StripeProvider(guard);
  };
  const provider = (): Promise<PaymentProvider> => (opened ??= open());
  const { commands, streams, names, payments: connections } = core;
  const record = recorderOf(commands);
  const events = new PaymentEvents({
    record,
    streams,
    names,
    connections,
    provider,
    onAnswer: (received) => observe.event(received),
  });
  onStop(async () => (await opened)?.close());
  return { events, record, provider };
}

export function makePaymentsWork(
  { core, background: pool, presence }: Stores,
  { record, provider }: Payments,
  observe: PaymentsObserver,
  { logger }: Pick<ServiceOptions, 'logger'>,
): PaymentsWork {
  const { tenants, payments: connections, streams, names } = core;
  const rows = providerRows(pool);
  const work = workStore(pool);
  const syncs = new DailySyncs({
    work,
    rows,
    tenants,
    connections,
    streams,
    names,
    provider,
    presence,
    logger,
    record,
    onEnd: (end) => observe.sync(end),
    destroyExpiredKeys: () =>
      destroyExpiredKeys({
        rows,
        streams,
        keys: core.keys,
        forget: (gone) => core.forget(gone),
        announce: (gone) => announceErasure(pool, gone),
      }),
  });
  const { commands } = core;
  const pusher = new RewardPusher({
    work,
    presence,
    tenants,
    connections,
    streams,
    names,
    provider,
    commands,
    logger,
    onTurn: (turn) => observe.push(turn),
  });
  const generations = new LiveGenerations(pool, [rewardsProjector]);
  const parked = new PushQueries(new LiveReads(pool, generations, 'rewards'));
  const figures = (): Promise<PaymentFigures> =>
    paymentFigures(pool, (tenants, bound) => parked.countParked(tenants, bound));
  return { syncs, pusher, figures };
}

export function startPaymentsWork(
  { syncs, pusher }: PaymentsWork,
  plans: RewardPayments,
  { config }: Pick<ServiceOptions, 'config'>,
  onStop: OnStop,
): void {
  plans.onRequested = () => pusher.worker.loop.notify();
  for (const { worker } of [syncs, pusher]) {
    if (config.roles.has('worker')) worker.loop.start();
    onStop(() => worker.stop());
  }
}
