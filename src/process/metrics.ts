import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ChainSealer } from '../chain/chain-sealer.js';
import type { EventLogObserver } from '../event-log/event-log-observer.js';
import type { PolicyRunner } from '../policies/policy-runner.js';
import type { ProjectionRunner } from '../projecting/following/projection-runner.js';

interface WatchedRunners {
  readonly projections: ProjectionRunner;
  readonly policies: PolicyRunner;
  readonly sealer: ChainSealer;
}

/** Metrics of the log, the read models and the policies. Labels are our own names, never ids. */
export class LedgerMetrics {
  /** To be passed to the log. */
  readonly eventLog: EventLogObserver;

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    const appends = new Histogram({
      name: 'ledger_append_duration_seconds',
      help: 'Time from the call of an append to its answer',
      labelNames: ['outcome'],
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
      registers,
    });
    const batches = new Histogram({
      name: 'ledger_append_batch_size',
      help: 'Appends that were committed together',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    });
    const retries = new Counter({
      name: 'ledger_append_retries_total',
      help: 'Appends, or batches of them, that were sent again',
      registers,
    });
    const unknownOutcomes = new Counter({
      name: 'ledger_append_unknown_outcomes_total',
      help: 'Tries of an append that ended without an answer',
      registers,
    });
    const subscriptionRestarts = new Counter({
      name: 'ledger_subscription_restarts_total',
      help: 'Subscriptions to the log that broke, were dropped or fell silent, and were made anew',
      registers,
    });
    this.eventLog = {
      append: (ms, outcome) => appends.observe({ outcome }, ms / 1000),
      batch: (size) => batches.observe(size),
      retry: () => retries.inc(),
      unknownOutcome: () => unknownOutcomes.inc(),
      subscriptionRestart: () => subscriptionRestarts.inc(),
    };
  }

  /** Called at each scrape; while the database is unavailable the gauges keep their values. */
  // eslint-disable-next-line max-lines-per-function -- a list of gauges
  watch({ projections, policies, sealer }: WatchedRunners): void {
    const registers = [this.registry];
    const lagSeconds = new Gauge({
      name: 'ledger_projection_lag_seconds',
      help: 'Age of the oldest event not applied',
      labelNames: ['projection'],
      registers,
    });
    const parked = new Gauge({
      name: 'ledger_projection_parked_streams',
      help: 'Streams that could not be applied',
      labelNames: ['projection'],
      registers,
    });
    const unreadable = new Gauge({
      name: 'ledger_projection_unreadable_streams',
      help: 'Streams with an event that this release could not decode',
      labelNames: ['projection'],
      registers,
    });
    new Gauge({
      name: 'ledger_projection_lag_events',
      help: 'Events not applied yet, counted up to a bound',
      labelNames: ['projection'],
      registers,
      async collect() {
        const rows = await projections.status().catch(() => []);
        for (const { projection, ...row } of rows) {
          this.set({ projection }, row.lagEvents);
          lagSeconds.set({ projection }, row.lagSeconds);
          parked.set({ projection }, row.parkedStreams);
          unreadable.set({ projection }, row.unreadableStreams);
        }
      },
    });
    const heldBack = new Gauge({
      name: 'ledger_held_back_streams',
      help: 'Streams whose events policies cannot read',
      registers,
    });
    const oldest = new Gauge({
      name: 'ledger_parked_reactions_oldest_seconds',
      help: 'How long the oldest parked reaction or stream that is held back stands still',
      registers,
    });
    new Gauge({
      name: 'ledger_parked_reactions',
      help: 'Reactions that failed again and again and are tried again by and by',
      registers,
      async collect() {
        const counts = await policies.parkedCounts().catch(() => undefined);
        if (counts === undefined) return;
        this.set(counts.parked);
        heldBack.set(counts.heldBack);
        oldest.set(counts.oldestSeconds);
      },
    });
    const sealedLagSeconds = new Gauge({
      name: 'ledger_chain_lag_seconds',
      help: 'Age of the oldest event not sealed',
      registers,
    });
    new Gauge({
      name: 'ledger_chain_lag_events',
      help: 'Events not sealed yet, counted up to a bound',
      registers,
      async collect() {
        const status = await sealer.status(Date.now()).catch(() => undefined);
        if (status === undefined) return;
        this.set(status.lagEvents);
        sealedLagSeconds.set(status.lagSeconds);
      },
    });
  }
}
