import type { Pool } from 'pg';
import { connectionBudget } from '../config/connection-budget.js';
import type { Core } from '../stores/core.js';
import { exportJobsOn } from '../stores/export-jobs-on.js';
import type { ExportJobs } from '../exports/jobs/export-jobs.js';
import { exportFigures } from '../exports/storage/export-file-rows.js';
import { openPool } from '../postgres/database.js';
import type { ResourceMetrics } from '../observability/resource-metrics.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { Followers } from './start-followers.js';
import type { Started } from './start-in-order.js';
import type { Stores, WatchedLog } from './start-stores.js';

/** Exports that one process writes at once, with connections of their own. */
const AT_ONCE = 2;

/** Longer than the statements beside the writing take; a server that is frozen says nothing. */
const STATEMENT_MS = 30_000;

export interface ExportsPools {
  /** What is done beside the writing. */
  readonly pool: Pool;
  /** A snapshot lasts as long as the writing, so its statements have no limit of time. */
  readonly snapshots: Pool;
  readonly atOnce: number;
}

/** @param shared for the snapshots of exports without connections of their own. */
export function startExportsPools(
  core: Pick<Core, 'databaseUrl' | 'pool'>,
  { config }: Pick<ServiceOptions, 'config'>,
  shared: Pool,
): Started<ExportsPools> {
  const max = connectionBudget(config).exports;
  if (max === 0) {
    const part = { pool: core.pool, snapshots: shared, atOnce: 1 };
    return { part, undo: () => Promise.resolve() };
  }
  const { databaseUrl: url } = core;
  const applicationName = 'ledger-exports';
  const snapshots = openPool({ url, max: AT_ONCE, applicationName });
  const pool = openPool({
    url,
    max: max - AT_ONCE,
    applicationName,
    statementTimeoutMs: STATEMENT_MS,
  });
  const undo = async () => void (await Promise.all([pool.end(), snapshots.end()]));
  return { part: { pool, snapshots, atOnce: AT_ONCE }, undo };
}

export interface ExportsStartParts {
  readonly stores: Stores;
  readonly watched: WatchedLog;
  readonly followers: Followers;
  readonly exportsPools: ExportsPools;
  readonly address: Address;
  readonly resources: ResourceMetrics;
  /** Whether requests of this process are at work that the writing would slow down. */
  readonly isBusy: () => boolean;
}

/** Writes the exports that wait, where this process works. */
export function startExports(
  { stores, watched, followers, exportsPools, address, resources, isBusy }: ExportsStartParts,
  { config, logger }: ServiceOptions,
): Started<ExportJobs> {
  const { pool, snapshots, atOnce } = exportsPools;
  const jobs = exportJobsOn(stores.core, {
    pool,
    snapshots,
    atOnce,
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
