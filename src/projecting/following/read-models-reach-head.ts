import type { Pool } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import { liveCheckpoints } from '../checkpoints.js';
import { countUnfinishedErasures } from './erasure-pieces.js';

/**
 * Captures the log's current head. The returned check tells whether the live read models of these
 * projections have reached it with all erasures complete.
 * @throws while a store is unavailable.
 */
export async function readModelsReachHead(
  pool: Pool,
  log: Pick<EventLog, 'head' | 'compare'>,
  projections: readonly string[],
): Promise<() => Promise<boolean>> {
  const head = await log.head();
  return async () => {
    const checkpoints = await liveCheckpoints(pool, projections);
    if (!checkpoints.every(({ position }) => log.compare(position, head) >= 0)) return false;
    return (await countUnfinishedErasures(pool, checkpoints)) === 0;
  };
}
