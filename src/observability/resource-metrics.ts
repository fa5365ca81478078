import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { PoolUse } from '../event-log/event-log-observer.js';
import type { SeenExport } from '../exports/jobs/export-jobs.js';
import type { ExportFigures } from '../exports/storage/export-file-rows.js';
import type { MailOutcome } from '../mails/deliveries/mail-sender.js';
import type { SeenSync } from '../payments/incoming/daily-syncs.js';
import type { Received } from '../payments/incoming/payment-events.js';
import type { SeenPush } from '../payments/outgoing/reward-pusher.js';
import type { JobsObserver } from '../work-queue/jobs.js';
import type { PolicyRunner } from '../reacting/policy-runner.js';
import type { QueueDepth } from '../work-queue/queue-depth.js';
import type { SeenAttempt } from '../webhooks/deliveries/webhook-sender.js';
import type { Follower } from '../following/follower.js';
import type { Handler } from '../following/handler.js';
import type { Projections } from '../projecting/following/projections.js';
import type { Page } from '../projecting/page.js';
import type { PaymentsObserver } from '../payments/payments-work.js';

type PoolName = 'requests' | 'background' | 'jobs' | 'operations' | 'log-readers';

interface WatchedRunners {
  readonly follower: Pick<Follower<Page>, 'leads' | 'waiting'>;
  readonly projections: Pick<Projections, 'names'>;
  readonly policies: Pick<PolicyRunner, 'name' | 'waiting'>;
  readonly sealer: Pick<Handler<Page>, 'name'>;
  readonly webhooks: { readonly follower: Pick<Handler<Page>, 'name'> };
}

/**
 * Metrics of what this process holds and shares: connections, leads, jobs. Labels are our own
 * names, never ids.
 */
export class ResourceMetrics {
  /** To be passed to the jobs. */
  readonly jobs: JobsObserver;
  /** To be passed to the sender of webhooks. */
  readonly webhooks: (seen: SeenAttempt) => void;
  /** To be passed to the sender of mails. */
  readonly mails: (outcome: MailOutcome) => void;
  /** To be passed to what receives from payment providers, pays by them and walks them. */
  readonly payments: PaymentsObserver;
  /** To be passed to the writers of exports. */
  readonly exports: (seen: SeenExport) => void;
  private readonly pools = new Map<PoolName, PoolUse>();

  constructor(
    private readonly registry: Registry,
    build: { readonly version: string; readonly node: string },
  ) {
    this.gauge('ledger_build_info', 'Always 1; the release, and the Node.js that runs it', [
      'version',
      'node',
    ]).set({ ...build }, 1);
    const runs = new Histogram({
      name: 'ledger_job_duration_seconds',
      help: 'Runs of jobs: done, failed (it runs again), given-up (it failed as often as it may)',
      labelNames: ['task', 'outcome'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600],
      registers: [registry],
    });
    this.jobs = { ran: (task, ms, outcome) => runs.observe({ task, outcome }, ms / 1000) };
    this.webhooks = webhooksObserver(registry);
    this.mails = mailsObserver(registry);
    this.payments = paymentsObserver(registry);
    this.exports = exportsObserver(registry);
    this.watchPools();
  }

  /** Shows the pool from now on, in place of an earlier one of its name. */
  watchPool(name: PoolName, pool: PoolUse): void {
    this.pools.set(name, pool);
  }

  watchFollowers({ follower, projections, policies, sealer, webhooks }: WatchedRunners): void {
    this.gauge(
      'ledger_follower_leads',
      '1 where this process does the work, 0 on standby',
      ['follower'],
      (gauge) => {
        for (const name of [...projections.names, policies.name, webhooks.follower.name])
          gauge.set({ follower: name }, follower.leads(name) ? 1 : 0);
        gauge.set({ follower: 'chain' }, follower.leads(sealer.name) ? 1 : 0);
      },
    );
    this.gauge(
      'ledger_position_waiters',
      'Reads that wait for read models, or for the reactions of policies',
      ['on'],
      (gauge) => {
        gauge.set({ on: 'projections' }, follower.waiting);
        gauge.set({ on: 'policies' }, policies.waiting);
      },
    );
  }

  /** @param read while it fails the gauges keep their values. */
  watchQueue(read: () => Promise<QueueDepth>): void {
    const shared = sharedReading(read);
    this.gauge(
      'ledger_jobs',
      'Jobs of all processes, counted up to 10 000: due, running, given-up',
      ['state'],
      async (gauge) => {
        const depth = await shared();
        if (depth === undefined) return;
        gauge.set({ state: 'due' }, depth.due);
        gauge.set({ state: 'running' }, depth.running);
        gauge.set({ state: 'given-up' }, depth.givenUp);
      },
    );
    this.gauge(
      'ledger_jobs_due_oldest_seconds',
      'How long the oldest due job has waited',
      [],
      async (gauge) => {
        const depth = await shared();
        if (depth !== undefined) gauge.set(depth.oldestDueSeconds);
      },
    );
  }

  /** @param read while it fails the gauges keep their values. */
  watchExports(read: () => Promise<ExportFigures>): void {
    const shared = sharedReading(read);
    this.gauge(
      'ledger_exports',
      'Exports of all processes: waiting, running, stored',
      ['state'],
      async (gauge) => {
        const figures = await shared();
        if (figures === undefined) return;
        for (const state of ['waiting', 'running', 'stored'] as const)
          gauge.set({ state }, figures[state]);
      },
    );
    const single = (name: string, help: string, member: keyof ExportFigures): Gauge =>
      this.gauge(name, help, [], async (gauge) => {
        const figures = await shared();
        if (figures !== undefined) gauge.set(figures[member]);
      });
    single('ledger_exports_stored_bytes', 'Bytes that files of exports take', 'storedBytes');
    single(
      'ledger_exports_waiting_oldest_seconds',
      'How long the oldest waiting export has waited',
      'oldestWaitingSeconds',
    );
  }

  private watchPools(): void {
    const ofEach =
      (set: (gauge: Gauge, pool: PoolName, use: PoolUse) => void) => (gauge: Gauge) => {
        for (const [name, use] of this.pools) set(gauge, name, use);
      };
    this.gauge(
      'ledger_pool_connections',
      'Connections to Postgres by pool: used, idle',
      ['pool', 'state'],
      ofEach((gauge, pool, { totalCount, idleCount }) => {
        gauge.set({ pool, state: 'used' }, totalCount - idleCount);
        gauge.set({ pool, state: 'idle' }, idleCount);
      }),
    );
    this.gauge(
      'ledger_pool_connections_max',
      'Connections to Postgres that a pool may open',
      ['pool'],
      ofEach((gauge, pool, { options }) => gauge.set({ pool }, options.max)),
    );
    this.gauge(
      'ledger_pool_waiters',
      'Callers that wait for a connection of a pool',
      ['pool'],
      ofEach((gauge, pool, { waitingCount }) => gauge.set({ pool }, waitingCount)),
    );
  }

  private gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    collect?: (gauge: Gauge) => void | Promise<void>,
  ): Gauge {
    const registers = [this.registry];
    if (collect === undefined) return new Gauge({ name, help, labelNames, registers });
    return new Gauge({
      name,
      help,
      labelNames,
      registers,
      // Each collects for itself: a value that another gauge sets shows the scrape before.
      collect() {
        return collect(this);
      },
    });
  }
}

/** Gauges that are read together share one reading; undefined: it failed. */
function sharedReading<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T | undefined> | undefined;
  return () =>
    (reading ??= read()
      .catch(() => undefined)
      .finally(() => (reading = undefined)));
}

const OUTCOMES_OF_EXPORTS: readonly SeenExport['outcome'][] = [
  'written',
  'failed',
  'hopeless',
  'lost',
  'stopped',
];

function exportsObserver(registry: Registry): (seen: SeenExport) => void {
  const attempts = new Histogram({
    name: 'ledger_export_duration_seconds',
    help: 'Writings of exports: written, failed (it is tried again), hopeless (it is aborted), lost (cancelled), stopped',
    labelNames: ['outcome'],
    buckets: [0.1, 0.5, 1, 5, 30, 120, 600, 3_600],
    registers: [registry],
  });
  // From 0: an outcome that is new is an increase.
  for (const outcome of OUTCOMES_OF_EXPORTS) attempts.zero({ outcome });
  return ({ outcome, ms }) => attempts.observe({ outcome }, ms / 1_000);
}

const OUTCOMES: readonly SeenAttempt['outcome'][] = ['delivered', 'failed', 'gone'];

function webhooksObserver(registry: Registry): (seen: SeenAttempt) => void {
  const attempts = new Counter({
    name: 'ledger_webhook_attempts_total',
    help: 'Attempts to deliver a webhook: delivered, failed (it is tried again), gone (410)',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // From 0: an outcome that is new is an increase.
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0);
  const first = new Histogram({
    name: 'ledger_webhook_first_attempt_seconds',
    help: 'From the append of an event to the first attempt to deliver it',
    buckets: [0.05, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600],
    registers: [registry],
  });
  return ({ outcome, sinceAppendMs }) => {
    attempts.inc({ outcome });
    if (sinceAppendMs !== undefined) first.observe(Math.max(0, sinceAppendMs) / 1_000);
  };
}

const OUTCOMES_OF_MAILS: readonly MailOutcome[] = [
  'delivered',
  'failed',
  'refused',
  'unknown',
  'not-sent',
  'postponed',
];

function mailsObserver(registry: Registry): (outcome: MailOutcome) => void {
  const attempts = new Counter({
    name: 'ledger_mail_attempts_total',
    help: 'Mails by what came of them: delivered, failed (it is tried again), refused, unknown (the server may have taken it), not-sent (nobody is to get it), postponed',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // From 0: an outcome that is new is an increase.
  for (const outcome of OUTCOMES_OF_MAILS) attempts.inc({ outcome }, 0);
  return (outcome) => attempts.inc({ outcome });
}

const SEEN_EVENTS: readonly Received[] = [
  'recorded',
  'ignored',
  'repeated',
  'not-connected',
  'not-signed',
  'no-event',
  'other-mode',
  'unavailable',
  'full',
];
const SEEN_PUSHES: readonly SeenPush[] = ['pushed', 'refused', 'waits', 'nothing', 'failed'];
const SEEN_SYNCS: readonly SeenSync[] = [
  'done',
  'more',
  'not-connected',
  'postponed',
  'suspended',
  'failed',
];

function paymentsObserver(registry: Registry): PaymentsObserver {
  const counted = <T extends string>(
    name: string,
    help: string,
    outcomes: readonly T[],
  ): ((outcome: T) => void) => {
    const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [registry] });
    // From 0: an outcome that is new is an increase.
    for (const outcome of outcomes) counter.inc({ outcome }, 0);
    return (outcome) => counter.inc({ outcome });
  };
  return {
    event: counted(
      'ledger_payment_events_total',
      'Events of payment providers: recorded, ignored (recorded, without an effect), repeated, not-connected, not-signed, no-event, other-mode, unavailable, full (no room for customers that no account has; the provider repeats both)',
      SEEN_EVENTS,
    ),
    push: counted(
      'ledger_payment_pushes_total',
      'Turns of rewards that a payment provider pays: pushed, refused (parked), waits (for a subscription), nothing (to be paid any more), failed (it is tried again)',
      SEEN_PUSHES,
    ),
    sync: counted(
      'ledger_payment_syncs_total',
      'Turns of daily walks: done, more (it goes on), not-connected, suspended, postponed (the stores were away), failed (the provider; it is tried again)',
      SEEN_SYNCS,
    ),
  };
}
