import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { OperatorsFile } from '../config/operators-file.js';
import type { CurrentOperators } from '../config/operators.js';
import { ConsoleGate } from '../console/sessions/console-gate.js';
import { RefusedVisits } from '../console/sessions/refused-visits.js';
import { exportFigures } from '../exports/storage/export-file-rows.js';
import { OperationRuns } from '../http/operations/operation-runs.js';
import { ShareLinkVisits } from '../http/share-links/share-link-visits.js';
import { openOperationsPool } from '../operations/projections/projection-operator.js';
import { UnreadableRetries } from '../operations/projections/unreadable-retries.js';
import { recordSession } from '../operations/sessions/record-session.js';
import { shownMoney } from '../operations/ledger/shown-money.js';
import { OperatorSessions } from '../operations/sessions/operator-sessions.js';
import { RecordedRuns } from '../runs/recorded-runs.js';
import { exportJobsOn } from '../stores/export-jobs-on.js';
import type { Core } from '../stores/core.js';
import { RateLimits } from '../http/limits/rate-limits.js';
import { createMetricsRegistry } from '../http/health/metrics.js';
import { PostgresAnswerRows } from '../idempotency/answer-rows.js';
import { StoredAnswers } from '../idempotency/stored-answers.js';
import type { PolicyRunner } from '../reacting/policy-runner.js';
import { JOBS } from '../work-queue/jobs.js';
import { workFigures } from '../work-queue/work-items.js';
import type { Follower } from '../following/follower.js';
import type { Page } from '../projecting/page.js';
import { connectionBudget } from '../config/connection-budget.js';
import { SlowReads } from '../projecting/following/slow-reads.js';
import { ServiceReadiness } from '../observability/health.js';
import { Metrics } from '../observability/metrics.js';
import { Address, type Listening, type ServiceOptions } from './service-options.js';
import {
  catchUpBeforeEnd,
  makeFollowers,
  openJobsPool,
  prepareFollowers,
  PROJECTION_NAMES,
  startFollowing,
  type Followers,
  type FollowersParts,
} from './start-followers.js';
import { startTracing } from './start-tracing.js';
import {
  configureApplication,
  startApplication,
  startListening,
  startOperationsListener,
} from './start-http.js';
import { makePaymentsWork, openPayments, startPaymentsWork } from './start-payments.js';
import { startInOrder, type OnStop } from './start-in-order.js';
import { startStores } from './start-stores.js';

/** Exports that a process writes concurrently, each with a snapshot. */
const EXPORT_CONCURRENCY = 2;

export interface Service extends Listening {
  readonly core: Core;
  readonly app: NestFastifyApplication;
  readonly follower: Follower<Page>;
  readonly policies: PolicyRunner;
  /** Lets requests finish, writes checkpoints and releases everything. */
  stop(): Promise<void>;
}

/** Starts the parts of the process according to its roles. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, logger, version } = options;
  const operators = await OperatorsFile.open(config.operatorsFile, logger);
  const registry = createMetricsRegistry();
  const metrics = new Metrics(registry, { version, node: process.version });
  return startInOrder(async (onStop) => {
    onStop((await startTracing({ logger, environment: process.env })).undo);
    const { stores, watched } = await startStores(options, metrics, onStop);
    const { core, background, presence } = stores;
    const answerRows = new PostgresAnswerRows(core.pool, presence);
    const answers = new StoredAnswers(answerRows, core.answerSealer, core.keys);
    const rateLimits = new RateLimits(core.pool, core.names, core.streams);
    const { jobsPool, operationsPool } = openPools(core, options, metrics, onStop);
    const budget = connectionBudget(config);
    const slowReads = new SlowReads(core.pool, Math.ceil(budget.requests / 4));
    const runs = new OperationRuns(
      new RecordedRuns(core.pool, core.answerSealer, presence.id),
      logger,
    );
    onStop(() => runs.close());
    const visits = new ShareLinkVisits(core.commands, logger);
    visits.start();
    // Stops after the last request and stores its counts.
    onStop(() => visits.stop());
    const address = new Address(config);
    const made = { rateLimits, stores, watched, jobsPool, address, metrics };
    const followers = makeFollowers(made, options);
    const observe = metrics.observe.payments;
    const payments = openPayments(core, followers.webhooks.guard, observe, onStop);
    const paymentsWork = makePaymentsWork(stores, payments, observe, options);
    const running = { ...followers, payments: paymentsWork };
    const { generations } = watched;
    const readiness = new ServiceReadiness(core, generations, running, PROJECTION_NAMES);
    watched.onHidden = () => readiness.restartCatchUp();
    const console = consoleGate(core, operators, options);
    const shown = { operators, console, registry, operationsPool, slowReads, runs, readiness };
    const read = { core, stores, generations, followers, answers, rateLimits, address };
    const parts = { ...read, ...shown, payments, visits };
    const application = await startApplication(parts, options, onStop);
    metrics.watchFollowers(running, core.log);
    if (config.roles.has('worker')) metrics.watchQueue(() => workFigures(background, JOBS));
    await configureApplication(application, parts, options);
    const leads = (name: string): boolean => followers.follower.leads(name);
    const unreadable = { core, pool: operationsPool, projectors: accountProjectors, leads, logger };
    await prepareFollowers(followers, new UnreadableRetries(unreadable), options, onStop);
    const isBusy = (): boolean => application.edge.isBusy;
    startExports({ ...made, followers, operationsPool, isBusy }, options, onStop);
    startPaymentsWork(paymentsWork, followers.payments, options, onStop);
    startFollowing(followers, core, options, onStop);
    onStop(() => catchUpBeforeEnd(core, followers));
    const operationsUrl = await startOperationsListener(application, options, onStop);
    const url = await startListening(application, options, address, onStop);
    const urls = { url, ...(operationsUrl !== undefined && { operationsUrl }) };
    await options.onListening?.(core, urls);
    void readiness.catchUp();
    onStop(() => readiness.stop());
    return { ...followers, core, app: application.app, ...urls };
  });
}

function consoleGate(
  core: Core,
  operators: CurrentOperators,
  { logger }: ServiceOptions,
): ConsoleGate {
  const sessions = new OperatorSessions(core.pool, operators);
  const context = { core, operationsPool: () => core.pool };
  return new ConsoleGate(
    operators,
    sessions,
    new RefusedVisits(core, logger),
    (name, step) => recordSession(core, name, step),
    (scope, account) => shownMoney(context, scope, account === undefined ? 'none' : { account }),
  );
}

/** The pools besides those of the stores. */
function openPools(core: Core, options: ServiceOptions, metrics: Metrics, onStop: OnStop) {
  const jobsPool = openJobsPool(core, options);
  const operationsPool = openOperationsPool(core, connectionBudget(options.config).operations);
  for (const [name, pool] of [
    ['jobs', jobsPool],
    ['operations', operationsPool],
  ] as const) {
    onStop(() => pool.end());
    metrics.watchPool(name, pool);
  }
  return { jobsPool, operationsPool };
}

interface ExportsStartParts extends FollowersParts {
  readonly followers: Followers;
  /** For snapshots, whose statements have no time limit. */
  readonly operationsPool: Pool;
  /** Whether running requests would be slowed down by exports. */
  readonly isBusy: () => boolean;
}

/** Writes waiting exports if this process has the role. */
function startExports(
  { stores, watched, followers, operationsPool, address, metrics, isBusy }: ExportsStartParts,
  { config, logger }: ServiceOptions,
  onStop: OnStop,
): void {
  const { core, background, presence } = stores;
  const { worker } = exportJobsOn(core, {
    pool: core.pool,
    snapshots: operationsPool,
    concurrency: EXPORT_CONCURRENCY,
    logger,
    presence,
    generations: watched.generations,
    readModels: followers.follower,
    publicUrl: address.publicUrl,
    onAttempt: metrics.observe.exports,
    isBusy,
  });
  if (config.roles.has('worker')) {
    worker.loop.start();
    metrics.watchExports(() => exportFigures(background));
  }
  onStop(() => worker.stop());
}
