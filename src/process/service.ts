import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Pool } from 'pg';
import type { ClockWatch } from '../stores/clock-watch.js';
import { OperatorsFile } from '../config/operators-file.js';
import type { CurrentOperators } from '../config/operators.js';
import { ConsoleGate } from '../console/sessions/console-gate.js';
import { RefusedVisits } from '../console/sessions/refused-visits.js';
import { MODES } from '../domain/scope.js';
import { shownMoney } from '../operations/ledger/shown-money.js';
import { OperatorSessions } from '../operations/sessions/operator-sessions.js';
import type { Core } from '../stores/core.js';
import type { EventLogObserver } from '../event-log/event-log-observer.js';
import { RateLimits } from '../http/limits/rate-limits.js';
import { createMetricsRegistry } from '../http/health/metrics.js';
import { PostgresAnswerRows } from '../idempotency/answer-rows.js';
import { KeptAnswers } from '../idempotency/kept-answers.js';
import type { PolicyRunner } from '../reacting/policy-runner.js';
import { queueDepth } from '../work-queue/queue-depth.js';
import type { Follower } from '../following/follower.js';
import type { Page } from '../projecting/page.js';
import { connectionBudget } from '../config/connection-budget.js';
import { SlowReads } from '../projecting/following/slow-reads.js';
import type { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import { ServiceReadiness } from '../observability/health.js';
import { LedgerMetrics } from '../observability/metrics.js';
import { ResourceMetrics } from '../observability/resource-metrics.js';
import type { Address, Listening, ServiceOptions } from './service-options.js';
import {
  makeFollowers,
  PROJECTION_NAMES,
  startCatchingUpAtEnd,
  startFollowing,
  startJobs,
  startJobsPool,
  startPolicies,
  startFollower,
  startReadiness,
  startMails,
  startWebhooks,
  startUnreadableRetries,
} from './start-followers.js';
import { startExports } from './start-exports.js';
import { startTracing } from './start-tracing.js';
import {
  configureApplication,
  startApplication,
  startListening,
  startOperationRuns,
  startOperationsListener,
  startOperationsPool,
  startVisits,
  type Application,
} from './start-http.js';
import {
  makePaymentsWork,
  startPayments,
  startPaymentsWork,
  type Payments,
} from './start-payments.js';
import type { PaymentsWork } from '../payments/payments-work.js';
import { startInOrder, type Start } from './start-in-order.js';
import {
  prepareReadModels,
  startBackgroundPool,
  startClockWatch,
  startCore,
  startAnnouncements,
  startLogWatch,
  startPresence,
  type Stores,
  type WatchedLog,
} from './start-stores.js';

export interface Service extends Listening {
  readonly core: Core;
  readonly app: NestFastifyApplication;
  readonly follower: Follower<Page>;
  readonly policies: PolicyRunner;
  /** Requests in flight finish, checkpoints are written, everything is released. */
  stop(): Promise<void>;
}

/** Starts the whole process: stores, read models, policies, jobs, HTTP, by its roles. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, logger, version } = options;
  const operators = await OperatorsFile.open(config.operatorsFile, logger);
  const registry = createMetricsRegistry();
  const metrics = new LedgerMetrics(registry);
  const resources = new ResourceMetrics(registry, { version, node: process.version });
  return startInOrder(async (start) => {
    await start(startTracing({ logger, environment: process.env }));
    const { stores, watched, clock } = await startStores(start, options, { metrics, resources });
    const { core, presence } = stores;
    const answerRows = new PostgresAnswerRows(core.pool, presence);
    const answers = new KeptAnswers(answerRows, core.answerSealer, core.keys);
    const rateLimits = new RateLimits(core.pool, core.names, core.streams);
    const { jobsPool, operationsPool } = await startPools(start, core, options, resources);
    const slowReads = new SlowReads(core.pool, Math.ceil(connectionBudget(config).requests / 4));
    const runs = await start(startOperationRuns(stores, options));
    const visits = await start(startVisits(core, options));
    const { jobs: observeJobs, webhooks: observeWebhooks, mails: observeMails } = resources;
    const observers = { observeJobs, observeWebhooks, observeMails };
    const address = { url: '' };
    const followers = makeFollowers(
      { rateLimits, stores, watched, jobsPool, address, ...observers },
      options,
    );
    const makesPayments = { stores, guard: followers.webhooks.guard, resources };
    const { payments, paymentsWork } = await startPaying(start, makesPayments, options);
    const running = { ...followers, payments: paymentsWork };
    const { generations } = watched;
    const readiness = new ServiceReadiness(core, generations, running, PROJECTION_NAMES);
    watched.loss.onHidden = () => readiness.catchUpAgain();
    const console = consoleGate(core, operators, options);
    const shown = { operators, console, registry, operationsPool, slowReads, runs, readiness };
    const read = { core, stores, generations, followers, answers, rateLimits, address };
    const parts = { ...read, ...shown, payments, visits };
    const application = await start(startApplication(parts, options));
    metrics.watch({ ...running, clock });
    resources.watchFollowers(followers);
    if (config.roles.has('worker')) resources.watchQueue(() => queueDepth(stores.background));
    await configureApplication(application, parts, options);
    await start(startJobs(followers, options));
    await start(startFollower(followers));
    await start(startUnreadableRetries(followers, core, operationsPool, options));
    await start(startPolicies(followers));
    await start(startWebhooks(followers));
    await start(startMails(followers));
    const isBusy = (): boolean => application.edge.isBusy;
    const exporting = { stores, watched, followers, operationsPool, address, resources, isBusy };
    await start(startExports(exporting, options));
    await start(startPaymentsWork(paymentsWork, followers.payments, options));
    await start(startFollowing(followers, core, options));
    await start(startCatchingUpAtEnd(core, followers));
    const urls = await startListeners(start, application, options, address);
    await options.onListening?.(core, urls);
    await start(startReadiness(readiness));
    return { ...followers, core, app: application.app, ...urls };
  });
}

async function startListeners(
  start: Start,
  application: Application,
  options: ServiceOptions,
  address: Address,
): Promise<Listening> {
  const operationsUrl = await start(startOperationsListener(application, options));
  const url = await start(startListening(application, options, address));
  return { url, ...(operationsUrl !== undefined && { operationsUrl }) };
}

function consoleGate(
  core: Core,
  operators: CurrentOperators,
  { logger }: ServiceOptions,
): ConsoleGate {
  const sessions = new OperatorSessions(core.pool, operators, core.names);
  const context = { core, operationsPool: () => core.pool };
  return new ConsoleGate(
    operators,
    sessions,
    new RefusedVisits(core, logger),
    ({ tenant, mode: named, accountId: account }) => {
      const mode = MODES.find((one) => one === named);
      return tenant === undefined || mode === undefined
        ? undefined
        : shownMoney(context, { tenant, mode }, account ? { account } : 'none');
    },
  );
}

/** The work beside requests is started later. */
async function startPaying(
  start: Start,
  { stores, guard, resources }: PaymentParts,
  options: ServiceOptions,
): Promise<{ readonly payments: Payments; readonly paymentsWork: PaymentsWork }> {
  const observe = resources.payments;
  const payments = await start(startPayments(stores.core, guard, observe));
  return { payments, paymentsWork: makePaymentsWork(stores, payments, observe, options) };
}

interface PaymentParts {
  readonly stores: Stores;
  readonly guard: EndpointGuard;
  readonly resources: ResourceMetrics;
}

interface Pools {
  readonly jobsPool: Pool;
  readonly operationsPool: Pool;
}

interface Observers {
  readonly metrics: LedgerMetrics;
  readonly resources: ResourceMetrics;
}

/** The pools besides those of the stores. */
async function startPools(
  start: Start,
  core: Core,
  options: ServiceOptions,
  resources: ResourceMetrics,
): Promise<Pools> {
  const jobsPool = await start(startJobsPool(core, options));
  resources.watchPool('jobs', jobsPool);
  const operationsPool = await start(startOperationsPool(core, options));
  resources.watchPool('operations', operationsPool);
  return { jobsPool, operationsPool };
}

async function startStores(
  start: Start,
  options: ServiceOptions,
  { metrics, resources }: Observers,
): Promise<{ readonly stores: Stores; readonly watched: WatchedLog; readonly clock: ClockWatch }> {
  const observe: EventLogObserver = {
    ...metrics.eventLog,
    pool: (use) => resources.watchPool('log-readers', use),
  };
  const core = await start(startCore(options, observe));
  resources.watchPool('requests', core.pool);
  const background = await start(startBackgroundPool(core, options));
  resources.watchPool('background', background);
  const stores = await start(startPresence(core, background));
  // Its presence is seen from here on, so that no copy of the log counts as complete: now the log
  // may grow.
  await core.followedLog.confirm();
  const watched = await start(startLogWatch(stores, options));
  const clock = await start(startClockWatch(stores, options));
  await start(startAnnouncements(stores));
  await prepareReadModels(stores, watched, options);
  return { stores, watched, clock };
}
