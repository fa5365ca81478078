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
  const { follower, projections, policies, sealer, webhooks, mails, payments } = running;
  const unlessAway = <T>(read: Promise<T>): Promise<T | undefined> => read.catch(() => undefined);
  const [ofProjections, ofPolicies, ofChain, ofWebhooks, ofMails, ofPayments, aheadMs] =
    await Promise.all([
      unlessAway(projections.status(follower)),
      unlessAway(policies.status(now, follower)),
      unlessAway(sealer.status(now, follower)),
      unlessAway(webhooks.follower.status(now, follower)),
      mails === undefined ? NO_MAILS : unlessAway(mails.waiting()),
      unlessAway(payments.figures()),
      unlessAway(log.check().then(msAhead)),
    ]);
  return {
    running,
    aheadMs,
    projections: ofProjections,
    policies: ofPolicies,
    chain: ofChain,
    webhooks: ofWebhooks,
    mails: ofMails,
    payments: ofPayments,
  };
}

type FollowersRead = Awaited<ReturnType<typeof readFollowers>>;

const ofProjections =
  (member: 'lagEvents' | 'lagSeconds' | 'parkedStreams' | 'unreadableStreams') =>
  (gauge: Gauge, { projections = [] }: FollowersRead): void =>
    projections.forEach((row) => gauge.set({ projection: row.projection }, row[member]));

const of =
  <Part extends 'policies' | 'chain' | 'webhooks' | 'mails' | 'payments'>(
    part: Part,
    figure: (row: NonNullable<FollowersRead[Part]>) => number,
  ) =>
  (gauge: Gauge, { [part]: row }: FollowersRead): void => {
    if (row) gauge.set(figure(row));
  };

/** Seconds since a loop of this process last worked. */
const stalledSeconds =
  (sender: (running: RunningFollowers) => { readonly loop: WorkLoop } | undefined) =>
  (gauge: Gauge, { running }: FollowersRead): void =>
    gauge.set(sender(running)?.loop.status().stillSeconds ?? 0);

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
    name: 'ledger_clock_ahead_seconds',
    help: 'Seconds by which the newest event is ahead of the clock of this process',
    set: (gauge, { aheadMs }) => aheadMs !== undefined && gauge.set(aheadMs / 1_000),
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
  {
    name: 'ledger_projection_lag_events',
    help: 'Events not applied yet, counted up to a bound',
    labelNames: ['projection'],
    set: ofProjections('lagEvents'),
  },
  {
    name: 'ledger_projection_lag_seconds',
    help: 'Age of the oldest event not applied',
    labelNames: ['projection'],
    set: ofProjections('lagSeconds'),
  },
  {
    name: 'ledger_projection_parked_streams',
    help: 'Streams that could not be applied',
    labelNames: ['projection'],
    set: ofProjections('parkedStreams'),
  },
  {
    name: 'ledger_projection_unreadable_streams',
    help: 'Streams with an event that this release could not decode',
    labelNames: ['projection'],
    set: ofProjections('unreadableStreams'),
  },
  {
    name: 'ledger_policies_lag_events',
    help: 'Events that policies have not reacted to, counted up to a bound',
    set: of('policies', (row) => row.lagEvents),
  },
  {
    name: 'ledger_policies_lag_seconds',
    help: 'Age of the oldest event that policies have not reacted to',
    set: of('policies', (row) => row.lagSeconds),
  },
  {
    name: 'ledger_parked_reactions',
    help: 'Reactions that failed repeatedly and are retried with growing delays',
    set: of('policies', (row) => row.parked),
  },
  {
    name: 'ledger_held_back_streams',
    help: 'Streams whose events policies cannot read',
    set: of('policies', (row) => row.heldBack),
  },
  {
    name: 'ledger_parked_reactions_oldest_seconds',
    help: 'Age of the oldest parked reaction or held-back stream',
    set: of('policies', (row) => row.oldestSeconds),
  },
  {
    name: 'ledger_chain_lag_events',
    help: 'Events not sealed yet, counted up to a bound',
    set: of('chain', (row) => row.lagEvents),
  },
  {
    name: 'ledger_chain_lag_seconds',
    help: 'Age of the oldest event not sealed',
    set: of('chain', (row) => row.lagSeconds),
  },
  {
    name: 'ledger_webhooks_lag_seconds',
    help: 'Age of the oldest event not processed for webhooks',
    set: of('webhooks', (row) => row.lagSeconds),
  },
  {
    name: 'ledger_webhook_sender_still_seconds',
    help: 'Seconds since the webhook sender of this process last worked without failure',
    set: stalledSeconds(({ webhooks }) => webhooks.sender.worker),
  },
  {
    name: 'ledger_webhooks_waiting',
    help: 'Webhooks waiting to be sent, counted up to a bound, without those of disabled endpoints',
    set: of('webhooks', (row) => row.waiting),
  },
  {
    name: 'ledger_webhooks_waiting_oldest_seconds',
    help: 'Age of the oldest webhook waiting to be sent',
    set: of('webhooks', (row) => row.oldestWaitingSeconds),
  },
  {
    name: 'ledger_webhooks_unsent_seconds',
    help: 'Age of the oldest deliverable webhook without a worker',
    set: of('webhooks', (row) => row.unsentSeconds),
  },
  {
    name: 'ledger_mail_sender_still_seconds',
    help: 'Seconds since the mail sender of this process last worked without failure',
    set: stalledSeconds(({ mails }) => mails?.sender.worker),
  },
  {
    name: 'ledger_mails_waiting',
    help: 'Mails due, retried or being sent, counted up to a bound',
    set: of('mails', (row) => row.waiting),
  },
  {
    name: 'ledger_mails_waiting_oldest_seconds',
    help: 'Seconds since the oldest waiting mail was due or first failed',
    set: of('mails', (row) => row.oldestWaitingSeconds),
  },
  {
    name: 'ledger_mails_unsent_seconds',
    help: 'Age of the oldest due mail while no process sends mails',
    set: of('mails', (row) => row.unsentSeconds),
  },
  {
    name: 'ledger_payment_pusher_still_seconds',
    help: 'Seconds since the reward pusher of this process last worked without failure',
    set: stalledSeconds(({ payments }) => payments.pusher.worker),
  },
  {
    name: 'ledger_payment_syncs_still_seconds',
    help: 'Seconds since the daily provider syncs of this process last worked without failure',
    set: stalledSeconds(({ payments }) => payments.syncs.worker),
  },
  {
    name: 'ledger_payment_events_waiting',
    help: 'Payment provider events of customers without an account, counted up to a bound',
    set: of('payments', (row) => row.waitingEvents),
  },
  {
    name: 'ledger_payment_pushes_waiting',
    help: 'Accounts with rewards due for payment, counted up to a bound',
    set: of('payments', (row) => row.waitingPushes),
  },
  {
    name: 'ledger_payment_pushes_waiting_oldest_seconds',
    help: 'Age of the oldest due payment of a reward',
    set: of('payments', (row) => row.oldestWaitingPushSeconds),
  },
  {
    name: 'ledger_payment_pushes_parked',
    help: 'Rewards that a payment provider refused, counted up to a bound',
    set: of('payments', (row) => row.parkedPushes),
  },
  {
    name: 'ledger_payment_syncs_late_seconds',
    help: 'Seconds since the oldest unfinished daily sync of a payment provider was due',
    set: of('payments', (row) => row.lateSyncSeconds),
  },
];
