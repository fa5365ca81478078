import { accountProjectors } from '../../../projections/account-projectors.js';
import type { Core } from '../../stores/core.js';
import { exportJobsOn } from '../../stores/export-jobs-on.js';
import { releaseOf } from '../../stores/release.js';
import type { Logger } from '../../foundation/logger.js';
import { openPool } from '../../postgres/database.js';
import { ProcessPresence } from '../../postgres/process-presence.js';
import { fetchRow, tables } from '../../postgres/statements.js';
import { decodeForProjectors } from '../../projecting/decode-events.js';
import { followProjections, Projections } from '../../projecting/following/projections.js';
import { postgresProjectionStores } from '../../projecting/following/projection-stores.js';
import { ensureOwnGenerations } from '../../projecting/generations/generations.js';
import { LiveGenerations } from '../../projecting/generations/live-generations.js';

interface Parts {
  readonly core: Core;
  readonly logger: Pick<Logger, 'warn'>;
  /** The service's external address, for links in files. */
  readonly publicUrl: string;
}

/** Leases and batches of read models, what stores the chunks, the sign of life. */
const CONNECTIONS = 9;
const STATEMENT_MS = 30_000;

/** Does the work; meanwhile exports are written, by the service or, where none runs, here. */
export async function writeExportsHere<T>(parts: Parts, work: () => Promise<T>): Promise<T> {
  const { core, logger, publicUrl } = parts;
  if (await isServed(core)) return work();
  const { databaseUrl: url, log, codec } = core;
  const projectors = accountProjectors;
  const applicationName = 'ledger-cli-exports';
  const options = { url, applicationName, max: CONNECTIONS, statementTimeoutMs: STATEMENT_MS };
  const pool = openPool(options);
  const snapshots = openPool({ url, applicationName, max: 1 });
  const presence = new ProcessPresence(pool, releaseOf(projectors));
  const generations = new LiveGenerations(pool, projectors);
  try {
    await presence.start();
    await ensureOwnGenerations(pool, projectors);
    const decode = decodeForProjectors(codec);
    const stores = postgresProjectionStores(pool, projectors);
    const projections = new Projections({ stores, log, decode, projectors, generations });
    const readModels = followProjections(projections, {});
    const jobs = exportJobsOn(core, {
      pool,
      snapshots,
      presence,
      logger,
      generations,
      readModels,
      concurrency: 1,
      publicUrl: () => publicUrl,
    });
    try {
      readModels.start();
      jobs.worker.loop.start();
      return await work();
    } finally {
      await jobs.worker.stop();
      await readModels.stop();
    }
  } finally {
    await presence.stop().catch(() => undefined);
    await Promise.all([pool.end(), snapshots.end()]);
  }
}

/** Whether a process of the service shows its presence. */
async function isServed({ pool }: Pick<Core, 'pool'>): Promise<boolean> {
  const row = await fetchRow(pool, tables.selectNoFrom(ProcessPresence.isAnyRunning.as('running')));
  return row?.running === true;
}
