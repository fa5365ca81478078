import type { Pool } from 'pg';
import { ExportQueries } from '../../projections/exports/queries.js';
import { connectionBudget } from '../core/connection-budget.js';
import { isOutage, type Core } from '../core/core.js';
import { ExportJobs } from '../exports/jobs/export-jobs.js';
import { ExportSweep } from '../exports/jobs/export-sweep.js';
import { PostgresExportChunks } from '../exports/storage/export-chunks.js';
import { exportFigures } from '../exports/storage/export-file-rows.js';
import { openPool } from '../postgres/database.js';
import { LiveReads } from '../projecting/following/live-reads.js';
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
  const { core, presence } = stores;
  const { pool, atOnce } = exportsPool;
  const { log, keys, commands, exports } = core;
  const { generations } = watched;
  const queries = new ExportQueries(new LiveReads(pool, generations, 'exports'));
  const jobs = new ExportJobs({
    pool,
    log,
    keys,
    commands,
    exports,
    presence,
    logger,
    atOnce,
    onAttempt: resources.exports,
    isOutage,
    storedBytesMax: core.exportsStoredBytesMax,
    chunks: new PostgresExportChunks(pool),
    sweep: new ExportSweep({ pool, exports, queries }),
    writing: {
      pool,
      log,
      generations,
      waitFor: (...awaited) => followers.projections.waitFor(...awaited),
      defaultProgramOf: async (tenant) => (await core.tenants.find(tenant))?.defaultProgramId,
      publicUrl: () => config.publicUrl ?? address.url,
    },
  });
  if (config.roles.has('worker')) {
    jobs.start();
    resources.watchExports(() => exportFigures(pool));
  }
  return { part: jobs, undo: () => jobs.stop() };
}
