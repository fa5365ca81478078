import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { OperatorsFile } from '../config/operators-file.js';
import type { Core } from '../core/core.js';
import { RateLimits } from '../http/edge/rate-limits.js';
import { createMetricsRegistry } from '../http/health/metrics.js';
import { PostgresAnswerRows } from '../kept-answers/answer-rows.js';
import { KeptAnswers } from '../kept-answers/kept-answers.js';
import type { PolicyRunner } from '../policies/policy-runner.js';
import type { ProjectionRunner } from '../projecting/following/projection-runner.js';
import { ServiceReadiness } from './health.js';
import { LedgerMetrics } from './metrics.js';
import type { ServiceOptions } from './service-options.js';
import {
  makeFollowers,
  PROJECTION_NAMES,
  startCatchingUpAtEnd,
  startFollowing,
  startJobs,
  startJobsPool,
  startPolicies,
  startProjecting,
  startReadiness,
  startSealing,
} from './start-followers.js';
import {
  configureApplication,
  startApplication,
  startListening,
  startOperationRuns,
  startOperationsListener,
  startOperationsPool,
  startVisits,
} from './start-http.js';
import { startInOrder, type Start } from './start-in-order.js';
import {
  prepareReadModels,
  startBackgroundPool,
  startCore,
  startErasureListener,
  startTenantListener,
  startLogWatch,
  startPresence,
  type Stores,
  type WatchedLog,
} from './start-stores.js';

export interface Service {
  readonly core: Core;
  readonly app: NestFastifyApplication;
  /** The listening address. */
  readonly url: string;
  /** Of health and metrics; undefined: they are answered at `url`. */
  readonly operationsUrl?: string;
  readonly projections: ProjectionRunner;
  readonly policies: PolicyRunner;
  /** Requests in flight finish, checkpoints are written, everything is released. */
  stop(): Promise<void>;
}

/** Starts the whole process: stores, read models, policies, jobs, HTTP, by its roles. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, logger } = options;
  const operators = await OperatorsFile.open(config.operatorsFile, logger);
  const registry = createMetricsRegistry();
  const metrics = new LedgerMetrics(registry);
  return startInOrder(async (start) => {
    const { stores, watched } = await startStores(start, options, metrics);
    const { core, presence } = stores;
    const answers = new KeptAnswers(
      new PostgresAnswerRows(core.pool, presence),
      core.answerSealer,
      core.keys,
    );
    const rateLimits = new RateLimits(core.pool, core.names, core.streams);
    const jobsPool = await start(startJobsPool(core, options));
    const operationsPool = await start(startOperationsPool(core, options));
    const runs = await start(startOperationRuns(options));
    const visits = await start(startVisits(core, options));
    const followers = makeFollowers({ rateLimits, stores, watched, jobsPool }, options);
    const readiness = new ServiceReadiness(core, watched.generations, followers, PROJECTION_NAMES);
    watched.loss.onHidden = () => readiness.catchUpAgain();
    const { generations } = watched;
    const address = { url: '' };
    const http = { operators, registry, operationsPool, runs, readiness, address, visits };
    const parts = { core, stores, generations, followers, answers, rateLimits, ...http };
    const application = await start(startApplication(parts, options));
    metrics.watch(followers);
    await configureApplication(application, parts, options);
    await start(startProjecting(followers));
    await start(startJobs(followers, options));
    await start(startPolicies(followers));
    await start(startSealing(followers));
    await start(startFollowing(followers, core, options));
    await start(startReadiness(readiness));
    await start(startCatchingUpAtEnd(core, followers));
    const operationsUrl = await start(startOperationsListener(application, options));
    const url = await start(startListening(application, options, address));
    const { projections, policies } = followers;
    const urls = operationsUrl === undefined ? { url } : { url, operationsUrl };
    return { core, app: application.app, ...urls, projections, policies };
  });
}

async function startStores(
  start: Start,
  options: ServiceOptions,
  metrics: LedgerMetrics,
): Promise<{ readonly stores: Stores; readonly watched: WatchedLog }> {
  const core = await start(startCore(options, metrics));
  const background = await start(startBackgroundPool(core, options));
  const stores = await start(startPresence(core, background));
  // Its presence is seen from here on, so that no copy of the log counts as complete: now the log
  // may grow.
  await core.followedLog.confirm();
  const watched = await start(startLogWatch(stores, options));
  await options.prepare?.(core);
  await start(startTenantListener(stores));
  await start(startErasureListener(stores));
  await prepareReadModels(stores, watched, options);
  return { stores, watched };
}
