import { Counter, Histogram, type Registry } from 'prom-client';
import type { EventLogObserver } from '../event-log/event-log-observer.js';
import type { ObservedExport } from '../exports/jobs/export-jobs.js';
import type { MailOutcome } from '../mails/deliveries/mail-sender.js';
import type { PaymentsObserver } from '../payments/payments-work.js';
import type { ObservedAttempt } from '../webhooks/deliveries/webhook-sender.js';
import type { JobsObserver } from '../work-queue/jobs.js';

/** Passed to the parts of the service that report what they did. */
export interface Observers {
  readonly eventLog: EventLogObserver;
  readonly jobs: JobsObserver;
  readonly webhooks: (seen: ObservedAttempt) => void;
  readonly mails: (outcome: MailOutcome) => void;
  readonly payments: PaymentsObserver;
  readonly exports: (seen: ObservedExport) => void;
}

/** Counters and histograms of reports. Labels are the service's own names. */
export function observersIn(registry: Registry): Observers {
  const registers = [registry];
  const counted = (name: string, help: string): (() => void) => {
    const counter = new Counter({ name, help, registers });
    return () => counter.inc();
  };
  return {
    eventLog: {
      ...appendsObserver(registry),
      retry: counted(
        'ledger_append_retries_total',
        'Appends, or batches of them, that were resent',
      ),
      unknownOutcome: counted(
        'ledger_append_unknown_outcomes_total',
        'Attempts of an append that ended without an answer',
      ),
      subscriptionRestart: counted(
        'ledger_subscription_restarts_total',
        'Subscriptions to the log that failed or fell silent and were renewed',
      ),
    },
    jobs: jobsObserver(registry),
    webhooks: webhooksObserver(registry),
    mails: outcomes<MailOutcome>(
      registry,
      'ledger_mail_attempts_total',
      'Mails by outcome: delivered, failed (retried), refused, unknown (the server may have accepted it), not-sent (the recipient must not get it), postponed',
      ['delivered', 'failed', 'refused', 'unknown', 'not-sent', 'postponed'],
    ),
    payments: paymentsObserver(registry),
    exports: exportsObserver(registry),
  };
}

/** Counts each outcome from 0, so that a first one is an increase. */
function outcomes<T extends string>(
  registry: Registry,
  name: string,
  help: string,
  all: readonly T[],
): (outcome: T) => void {
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [registry] });
  for (const outcome of all) counter.inc({ outcome }, 0);
  return (outcome) => counter.inc({ outcome });
}

function appendsObserver(registry: Registry): Pick<EventLogObserver, 'append' | 'batch'> {
  const appends = new Histogram({
    name: 'ledger_append_duration_seconds',
    help: 'Time from the call of an append to its answer',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
    registers: [registry],
  });
  for (const outcome of ['appended', 'conflict', 'failed']) appends.zero({ outcome });
  const batches = new Histogram({
    name: 'ledger_append_batch_size',
    help: 'Appends that were committed together',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers: [registry],
  });
  return {
    append: (ms, outcome) => appends.observe({ outcome }, ms / 1_000),
    batch: (size) => batches.observe(size),
  };
}

function jobsObserver(registry: Registry): JobsObserver {
  const runs = new Histogram({
    name: 'ledger_job_duration_seconds',
    help: 'Runs of jobs: done, failed (retried), given-up (the last try failed)',
    labelNames: ['task', 'outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600],
    registers: [registry],
  });
  return { ran: (task, ms, outcome) => runs.observe({ task, outcome }, ms / 1_000) };
}

function exportsObserver(registry: Registry): Observers['exports'] {
  const attempts = new Histogram({
    name: 'ledger_export_duration_seconds',
    help: 'Attempts of exports: written, failed (retried), hopeless (aborted), lost (cancelled), stopped',
    labelNames: ['outcome'],
    buckets: [0.1, 0.5, 1, 5, 30, 120, 600, 3_600],
    registers: [registry],
  });
  for (const outcome of ['written', 'failed', 'hopeless', 'lost', 'stopped'] as const)
    attempts.zero({ outcome });
  return ({ outcome, ms }) => attempts.observe({ outcome }, ms / 1_000);
}

function webhooksObserver(registry: Registry): Observers['webhooks'] {
  const attempted = outcomes<ObservedAttempt['outcome']>(
    registry,
    'ledger_webhook_attempts_total',
    'Attempts to deliver a webhook: delivered, failed (retried), gone (410)',
    ['delivered', 'failed', 'gone'],
  );
  const first = new Histogram({
    name: 'ledger_webhook_first_attempt_seconds',
    help: 'From the append of an event to the first attempt to deliver it',
    buckets: [0.05, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600],
    registers: [registry],
  });
  return ({ outcome, sinceAppendMs }) => {
    attempted(outcome);
    if (sinceAppendMs !== undefined) first.observe(Math.max(0, sinceAppendMs) / 1_000);
  };
}

function paymentsObserver(registry: Registry): PaymentsObserver {
  return {
    event: outcomes(
      registry,
      'ledger_payment_events_total',
      'Events of payment providers: recorded, ignored (recorded, without an effect), repeated, not-connected, not-signed, no-event, other-mode, unavailable, full (no room for customers that no account has; the provider repeats both)',
      [
        'recorded',
        'ignored',
        'repeated',
        'not-connected',
        'not-signed',
        'no-event',
        'other-mode',
        'unavailable',
        'full',
      ],
    ),
    push: outcomes(
      registry,
      'ledger_payment_pushes_total',
      'Payments of rewards: pushed, refused (parked), waits (for a subscription), nothing (left to pay), failed (retried)',
      ['pushed', 'refused', 'waits', 'nothing', 'failed'],
    ),
    sync: outcomes(
      registry,
      'ledger_payment_syncs_total',
      'Pages of daily provider syncs: done, more (continued), not-connected, suspended, postponed (a store was unavailable), failed (the provider; retried)',
      ['done', 'more', 'not-connected', 'postponed', 'suspended', 'failed'],
    ),
  };
}
