import type { Pool } from 'pg';
import { exportJobsOn } from '../stores/export-jobs-on.js';
import type { ExportJobs } from '../exports/jobs/export-jobs.js';
import { exportFigures } from '../exports/storage/export-file-rows.js';
import type { ResourceMetrics } from '../observability/resource-metrics.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { Followers } from './start-followers.js';
import type { Started } from './start-in-order.js';
import type { Stores, WatchedLog } from './start-stores.js';

/** Exports that one process writes at the same time, each with a snapshot. */
const AT_ONCE = 2;

export interface ExportsStartParts {
  readonly stores: Stores;
  readonly watched: WatchedLog;
  readonly followers: Followers;
  /** For snapshots, which last as long as the writing: its statements have no limit of time. */
  readonly operationsPool: Pool;
  readonly address: Address;
  readonly resources: ResourceMetrics;
  /** Whether requests of this process are at work that the writing would slow down. */
  readonly isBusy: () => boolean;
}

/** Writes the exports that wait, where this process works. */
export function startExports(
  { stores, watched, followers, operationsPool, address, resources, isBusy }: ExportsStartParts,
  { config, logger }: ServiceOptions,
): Started<ExportJobs> {
  const jobs = exportJobsOn(stores.core, {
    pool: stores.core.pool,
    snapshots: operationsPool,
    atOnce: AT_ONCE,
    logger,
    presence: stores.presence,
    generations: watched.generations,
    readModels: followers.follower,
    publicUrl: () => config.publicUrl ?? address.url,
    onAttempt: resources.exports,
    isBusy,
  });
  if (config.roles.has('worker')) {
    jobs.start();
    resources.watchExports(() => exportFigures(stores.background));
  }
  return { part: jobs, undo: () => jobs.stop() };
}
