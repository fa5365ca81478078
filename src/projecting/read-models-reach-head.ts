import type { Pool } from 'pg';
import type { EventLog } from '../event-log/event-log.js';
import { liveCheckpoints } from './checkpoints.js';

/**
 * Notes where the log ends now. What is returned tells whether the live read models of these projections have come so far.
 * @throws while a store is away.
 */
export async function readModelsReachHead(
  pool: Pool,
  log: Pick<EventLog, 'head' | 'compare'>,
  projections: readonly string[],
): Promise<() => Promise<boolean>> {
  const head = await log.head();
  return async () => {
    const checkpoints = await liveCheckpoints(pool, projections);
    return checkpoints.every(({ position }) => log.compare(position, head) >= 0);
  };
}
