import type { Pool } from 'pg';
import { ExportQueries } from '../../projections/exports/queries.js';
import { ExportJobs, type ExportJobsParts } from '../exports/jobs/export-jobs.js';
import { ExportSweep } from '../exports/jobs/export-sweep.js';
import { ExportChunks } from '../exports/storage/export-chunks.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import type { LiveGenerations } from '../projecting/generations/live-generations.js';
import { isOutage, type Core } from './core.js';

export interface ExportProcess extends Pick<
  ExportJobsParts,
  'pool' | 'presence' | 'logger' | 'concurrency' | 'onAttempt' | 'stalledAfterMs' | 'isBusy'
> {
  /** For statements with a time limit, outside the writing. */
  readonly pool: Pool;
  /** A connection for each file that is written, as long as that takes. */
  readonly snapshots: Pool;
  readonly generations: LiveGenerations;
  /** The read models that this process updates. */
  readonly readModels: Pick<ExportJobsParts['writing'], 'waitFor'>;
  /** The service's external address, for links in files. */
  readonly publicUrl: () => string;
}

/** Writes the exports of this ledger, in the service and on the command line. */
export function exportJobsOn(
  { log, keys, commands, exports, tenants, exportsStoredBytesMax }: Core,
  { generations, readModels, publicUrl, snapshots, ...process }: ExportProcess,
): ExportJobs {
  const { pool } = process;
  const queries = new ExportQueries(new LiveReads(pool, generations, 'exports'));
  return new ExportJobs({
    ...process,
    log,
    keys,
    commands,
    exports,
    isOutage,
    storedBytesMax: exportsStoredBytesMax,
    chunks: new ExportChunks(pool),
    sweep: new ExportSweep({ pool, exports, queries }),
    writing: {
      pool: snapshots,
      log,
      generations,
      waitFor: (...awaited) => readModels.waitFor(...awaited),
      defaultProgramOf: async (tenant) => (await tenants.find(tenant))?.defaultProgramId,
      now: (scope) => tenants.now(scope),
      publicUrl,
    },
  });
}
