import type { Pool } from 'pg';
import { connectionBudget } from '../core/connection-budget.js';
import type { Core } from '../core/core.js';
import { exportJobsOn } from '../core/export-jobs-on.js';
import type { ExportJobs } from '../exports/jobs/export-jobs.js';
import { exportFigures } from '../exports/storage/export-file-rows.js';
import { openPool } from '../postgres/database.js';
import type { ResourceMetrics } from './resource-metrics.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { Followers } from './start-followers.js';
import type { Started } from './start-in-order.js';
import type { Stores, WatchedLog } from './start-stores.js';

/** Exports that one process writes at once, with connections of their own. */
const AT_ONCE = 2;

export interface ExportsPool {
  readonly pool: Pool;
  readonly atOnce: number;
}

/** Without a limit of time: a snapshot lasts as long as the writing. */
export function startExportsPool(
  core: Core,
  { config }: ServiceOptions,
  shared: Pool,
): Started<ExportsPool> {
  const max = connectionBudget(config).exports;
  if (max === 0) return { part: { pool: shared, atOnce: 1 }, undo: () => Promise.resolve() };
  const pool = openPool({ url: core.databaseUrl, max, applicationName: 'ledger-exports' });
  return { part: { pool, atOnce: AT_ONCE }, undo: () => pool.end() };
}

export interface ExportsStartParts {
  readonly stores: Stores;
  readonly watched: WatchedLog;
  readonly followers: Followers;
  readonly exportsPool: ExportsPool;
  readonly address: Address;
  readonly resources: ResourceMetrics;
}

/** Writes the exports that wait, where this process works. */
export function startExports(
  { stores, watched, followers, exportsPool, address, resources }: ExportsStartParts,
  { config, logger }: ServiceOptions,
): Started<ExportJobs> {
  const { pool, atOnce } = exportsPool;
  const jobs = exportJobsOn(stores.core, {
    pool,
    atOnce,
    logger,
    presence: stores.presence,
    generations: watched.generations,
    readModels: followers.projections,
    publicUrl: () => config.publicUrl ?? address.url,
    onAttempt: resources.exports,
  });
  if (config.roles.has('worker')) {
    jobs.start();
    resources.watchExports(() => exportFigures(pool));
  }
  return { part: jobs, undo: () => jobs.stop() };
}
