import { Gauge, type Registry } from 'prom-client';
import { msAhead } from '../event-log/clock.js';
import type { EventLog } from '../event-log/event-log.js';
import type { PoolUse } from '../event-log/event-log-observer.js';
import type { ExportFigures } from '../exports/storage/export-file-rows.js';
import { timeNow } from '../foundation/world.js';
import type { WorkLoop } from '../foundation/work-loop.js';
import type { WorkFigures } from '../work-queue/work-items.js';
import type { RunningFollowers } from './health.js';
import { observersIn, type Observers } from './observers.js';
import { sharedCall } from '../foundation/single-flight.js';

type PoolName = 'requests' | 'background' | 'jobs' | 'operations' | 'log-readers';

/** A gauge of a part of a reading. */
interface GaugeOf<T> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly set: (gauge: Gauge, read: T) => unknown;
}

/** Metrics of the log, its followers and this process. Labels are the service's own names. */
export class Metrics {
  readonly observe: Observers;
  private readonly pools = new Map<PoolName, PoolUse>();

  constructor(
    private readonly registry: Registry,
    build: { readonly version: string; readonly node: string },
  ) {
    const { eventLog, ...others } = observersIn(registry);
    this.observe = {
      ...others,
      eventLog: { ...eventLog, pool: (use) => this.watchPool('log-readers', use) },
    };
    this.watch(() => build, BUILD_GAUGES);
    this.watch(() => this.pools, POOL_GAUGES);
  }

  /** Shows the pool, replacing an earlier one of its name. */
  watchPool(name: PoolName, pool: PoolUse): void {
    this.pools.set(name, pool);
  }

  watchFollowers(running: RunningFollowers, log: Pick<EventLog, 'check'>): void {
    this.watch(() => readFollowers(running, log), FOLLOWER_GAUGES);
  }

  watchQueue(read: () => Promise<WorkFigures>): void {
    this.watch(read, QUEUE_GAUGES);
  }

  watchExports(read: () => Promise<ExportFigures>): void {
    this.watch(read, EXPORT_GAUGES);
  }

  /** The gauges share one reading per scrape. While it fails they keep their values. */
  private watch<T>(read: () => T | Promise<T>, gauges: readonly GaugeOf<T>[]): void {
    const shared = sharedCall(() =>
      Promise.resolve()
        .then(read)
        .catch(() => undefined),
    );
    for (const { set, labelNames = [], ...named } of gauges)
      new Gauge({
        ...named,
        labelNames,
        registers: [this.registry],
        // Each gauge collects itself: values set by another one would be those of the last scrape.
        async collect() {
          const seen = await shared();
          if (seen !== undefined) set(this, seen);
        },
      });
  }
}

const BUILD_GAUGES: readonly GaugeOf<Readonly<Record<string, string>>>[] = [
  {
    name: 'ledger_build_info',
    help: 'Always 1; labels: release, Node.js version',
    labelNames: ['version', 'node'],
    set: (gauge, build) => gauge.set({ ...build }, 1),
  },
];

const ofPools =
  (figure: (use: PoolUse) => number, state?: string) =>
  (gauge: Gauge, pools: ReadonlyMap<PoolName, PoolUse>): void =>
    pools.forEach((use, pool) => gauge.set({ pool, ...(state && { state }) }, figure(use)));

const POOL_GAUGES: readonly GaugeOf<ReadonlyMap<PoolName, PoolUse>>[] = [
  {
    name: 'ledger_pool_connections',
    help: 'Connections to Postgres by pool: used, idle',
    labelNames: ['pool', 'state'],
    set(gauge, pools) {
      ofPools(({ totalCount, idleCount }) => totalCount - idleCount, 'used')(gauge, pools);
      ofPools(({ idleCount }) => idleCount, 'idle')(gauge, pools);
    },
  },
  {
    name: 'ledger_pool_connections_max',
    help: 'Connections to Postgres that a pool may open',
    labelNames: ['pool'],
    set: ofPools(({ options }) => options.max),
  },
  {
    name: 'ledger_pool_waiters',
    help: 'Callers waiting for a connection of a pool',
    labelNames: ['pool'],
    set: ofPools(({ waitingCount }) => waitingCount),
  },
];

const QUEUE_GAUGES: readonly GaugeOf<WorkFigures>[] = [
  {
    name: 'ledger_jobs',
    help: 'Jobs of all processes, counted up to 10 000: due, running, given-up',
    labelNames: ['state'],
    set(gauge, { due, running, givenUp }) {
      gauge.set({ state: 'due' }, due);
      gauge.set({ state: 'running' }, running);
      gauge.set({ state: 'given-up' }, givenUp);
    },
  },
  {
    name: 'ledger_jobs_due_oldest_seconds',
    help: 'Age of the oldest due job',
    set: (gauge, { oldestDueSeconds }) => gauge.set(oldestDueSeconds),
  },
];

const EXPORT_GAUGES: readonly GaugeOf<ExportFigures>[] = [
  {
    name: 'ledger_exports',
    help: 'Exports of all processes: waiting, running, stored',
    labelNames: ['state'],
    set(gauge, figures) {
      for (const state of ['waiting', 'running', 'stored'] as const)
        gauge.set({ state }, figures[state]);
    },
  },
  {
    name: 'ledger_exports_stored_bytes',
    help: 'Bytes of export files',
    set: (gauge, { storedBytes }) => gauge.set(storedBytes),
  },
  {
    name: 'ledger_exports_waiting_oldest_seconds',
    help: 'Age of the oldest waiting export',
    set: (gauge, { oldestWaitingSeconds }) => gauge.set(oldestWaitingSeconds),
  },
];

const NO_MAILS = { waiting: 0, oldestWaitingSeconds: 0, unsentSeconds: 0 };

/** A part is undefined while a store that it needs is unavailable. */
async function readFollowers(running: RunningFollowers, log: Pick<EventLog, 'check'>) {
  const now = timeNow();
  const { follower, mails } = running;
  const unlessAway = <T>(read: Promise<T>): Promise<T | undefined> => read.catch(() => undefined);
  const [projections, policies, chain, webhooks, ofMails, payments, aheadMs] = await Promise.all([
    unlessAway(running.projections.status(follower)),
    unlessAway(running.policies.status(now, follower)),
    unlessAway(running.sealer.status(now, follower)),
    unlessAway(running.webhooks.follower.status(now, follower)),
    mails === undefined ? NO_MAILS : unlessAway(mails.waiting()),
    unlessAway(running.payments.figures()),
    unlessAway(log.check().then(msAhead)),
  ]);
  return { running, projections, policies, chain, webhooks, mails: ofMails, payments, aheadMs };
}

type FollowersRead = Awaited<ReturnType<typeof readFollowers>>;

/** Seconds since a loop of this process last worked. */
const stalledSeconds = (worker: { readonly loop: WorkLoop } | undefined): number =>
  worker?.loop.status().stillSeconds ?? 0;

/** Undefined: not known at this scrape. */
const FIGURES = {
  ledger_clock_ahead_seconds: ({ aheadMs }) => aheadMs && aheadMs / 1_000,
  ledger_policies_lag_events: ({ policies }) => policies?.lagEvents,
  ledger_policies_lag_seconds: ({ policies }) => policies?.lagSeconds,
  ledger_parked_reactions: ({ policies }) => policies?.parked,
  ledger_held_back_streams: ({ policies }) => policies?.heldBack,
  ledger_parked_reactions_oldest_seconds: ({ policies }) => policies?.oldestSeconds,
  ledger_chain_lag_events: ({ chain }) => chain?.lagEvents,
  ledger_chain_lag_seconds: ({ chain }) => chain?.lagSeconds,
  ledger_webhooks_lag_seconds: ({ webhooks }) => webhooks?.lagSeconds,
  ledger_webhook_sender_still_seconds: ({ running }) =>
    stalledSeconds(running.webhooks.sender.worker),
  ledger_webhooks_waiting: ({ webhooks }) => webhooks?.waiting,
  ledger_webhooks_waiting_oldest_seconds: ({ webhooks }) => webhooks?.oldestWaitingSeconds,
  ledger_webhooks_unsent_seconds: ({ webhooks }) => webhooks?.unsentSeconds,
  ledger_mail_sender_still_seconds: ({ running }) => stalledSeconds(running.mails?.sender.worker),
  ledger_mails_waiting: ({ mails }) => mails?.waiting,
  ledger_mails_waiting_oldest_seconds: ({ mails }) => mails?.oldestWaitingSeconds,
  ledger_mails_unsent_seconds: ({ mails }) => mails?.unsentSeconds,
  ledger_payment_pusher_still_seconds: ({ running }) =>
    stalledSeconds(running.payments.pusher.worker),
  ledger_payment_syncs_still_seconds: ({ running }) =>
    stalledSeconds(running.payments.syncs.worker),
  ledger_payment_events_waiting: ({ payments }) => payments?.waitingEvents,
  ledger_payment_pushes_waiting: ({ payments }) => payments?.waitingPushes,
  ledger_payment_pushes_waiting_oldest_seconds: ({ payments }) =>
    payments?.oldestWaitingPushSeconds,
  ledger_payment_pushes_parked: ({ payments }) => payments?.parkedPushes,
  ledger_payment_syncs_late_seconds: ({ payments }) => payments?.lateSyncSeconds,
} satisfies Readonly<Record<string, (read: FollowersRead) => number | undefined>>;

/** Members of the status of each projection. */
const FIGURES_OF_PROJECTIONS = {
  ledger_projection_lag_events: 'lagEvents',
  ledger_projection_lag_seconds: 'lagSeconds',
  ledger_projection_parked_streams: 'parkedStreams',
  ledger_projection_unreadable_streams: 'unreadableStreams',
} as const;

const HELP: Readonly<Record<keyof typeof FIGURES | keyof typeof FIGURES_OF_PROJECTIONS, string>> = {
  ledger_clock_ahead_seconds:
    'Seconds by which the newest event is ahead of the clock of this process',
  ledger_projection_lag_events: 'Events not applied yet, counted up to a bound',
  ledger_projection_lag_seconds: 'Age of the oldest event not applied',
  ledger_projection_parked_streams: 'Streams that could not be applied',
  ledger_projection_unreadable_streams: 'Streams with an event that this release could not decode',
  ledger_policies_lag_events: 'Events that policies have not reacted to, counted up to a bound',
  ledger_policies_lag_seconds: 'Age of the oldest event that policies have not reacted to',
  ledger_parked_reactions: 'Reactions that failed repeatedly and are retried with growing delays',
  ledger_held_back_streams: 'Streams whose events policies cannot read',
  ledger_parked_reactions_oldest_seconds: 'Age of the oldest parked reaction or held-back stream',
  ledger_chain_lag_events: 'Events not sealed yet, counted up to a bound',
  ledger_chain_lag_seconds: 'Age of the oldest event not sealed',
  ledger_webhooks_lag_seconds: 'Age of the oldest event not processed for webhooks',
  ledger_webhook_sender_still_seconds:
    'Seconds since the webhook sender of this process last worked without failure',
  ledger_webhooks_waiting:
    'Webhooks waiting to be sent, counted up to a bound, without those of disabled endpoints',
  ledger_webhooks_waiting_oldest_seconds: 'Age of the oldest webhook waiting to be sent',
  ledger_webhooks_unsent_seconds: 'Age of the oldest deliverable webhook without a worker',
  ledger_mail_sender_still_seconds:
    'Seconds since the mail sender of this process last worked without failure',
  ledger_mails_waiting: 'Mails due, retried or being sent, counted up to a bound',
  ledger_mails_waiting_oldest_seconds:
    'Seconds since the oldest waiting mail was due or first failed',
  ledger_mails_unsent_seconds: 'Age of the oldest due mail while no process sends mails',
  ledger_payment_pusher_still_seconds:
    'Seconds since the reward pusher of this process last worked without failure',
  ledger_payment_syncs_still_seconds:
    'Seconds since the daily provider syncs of this process last worked without failure',
  ledger_payment_events_waiting:
    'Payment provider events of customers without an account, counted up to a bound',
  ledger_payment_pushes_waiting: 'Accounts with rewards due for payment, counted up to a bound',
  ledger_payment_pushes_waiting_oldest_seconds: 'Age of the oldest due payment of a reward',
  ledger_payment_pushes_parked: 'Rewards that a payment provider refused, counted up to a bound',
  ledger_payment_syncs_late_seconds:
    'Seconds since the oldest unfinished daily sync of a payment provider was due',
};

const names = <Name extends string>(figures: Readonly<Record<Name, unknown>>): readonly Name[] =>
  Object.keys(figures) as Name[];

const FOLLOWER_GAUGES: readonly GaugeOf<FollowersRead>[] = [
  {
    name: 'ledger_follower_leads',
    help: '1 where this process does the work, 0 on standby',
    labelNames: ['follower'],
    set(gauge, { running: { follower, projections, policies, sealer, webhooks } }) {
      for (const name of [...projections.names, policies.name, webhooks.follower.name])
        gauge.set({ follower: name }, follower.leads(name) ? 1 : 0);
      gauge.set({ follower: 'chain' }, follower.leads(sealer.name) ? 1 : 0);
    },
  },
  {
    name: 'ledger_position_waiters',
    help: 'Reads waiting for read models or for reactions of policies',
    labelNames: ['on'],
    set(gauge, { running: { follower, policies } }) {
      gauge.set({ on: 'projections' }, follower.waiting);
      gauge.set({ on: 'policies' }, policies.waiting);
    },
  },
  {
    name: 'ledger_follower_still_seconds',
    help: 'Seconds since a follower with unread events last made progress',
    labelNames: ['follower'],
    set(gauge, { projections = [], policies, chain, webhooks }) {
      for (const { projection, stillSeconds } of projections)
        gauge.set({ follower: projection }, stillSeconds);
      if (policies) gauge.set({ follower: 'policies' }, policies.stillSeconds);
      if (chain) gauge.set({ follower: 'chain' }, chain.stillSeconds);
      if (webhooks) gauge.set({ follower: 'webhooks' }, webhooks.stillSeconds);
    },
  },
  ...names(FIGURES).map((name) => ({
    name,
    help: HELP[name],
    set(gauge: Gauge, read: FollowersRead) {
      const figure = FIGURES[name](read);
      if (figure !== undefined) gauge.set(figure);
    },
  })),
  ...names(FIGURES_OF_PROJECTIONS).map((name) => ({
    name,
    help: HELP[name],
    labelNames: ['projection'],
    set(gauge: Gauge, { projections = [] }: FollowersRead) {
      for (const row of projections)
        gauge.set({ projection: row.projection }, row[FIGURES_OF_PROJECTIONS[name]]);
    },
  })),
];
