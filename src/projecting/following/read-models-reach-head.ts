import type { Pool } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import { fetchRows } from '../../postgres/statements.js';
import { GENERATIONS, liveCheckpoints } from '../checkpoints.js';
import { FOLLOWED_STATES, type ReadModel } from '../generations/generations.js';
import { countUnfinishedErasures } from './erasure-pieces.js';

/**
 * Captures the head of the log. The returned check is true once the live read models with these
 * tables have reached it with all erasures complete.
 * @param others includes those of other releases.
 * @throws while a store is unavailable.
 */
export async function readModelsReachHead(
  pool: Pool,
  log: Pick<EventLog, 'head' | 'compare'>,
  readModels: readonly ReadModel[],
  { others = false }: { readonly others?: boolean } = {},
): Promise<() => Promise<boolean>> {
  const head = await log.head();
  return async () => {
    const checkpoints = others
      ? await fetchRows(pool, GENERATIONS.where('g.state', 'in', FOLLOWED_STATES))
      : await liveCheckpoints(pool, readModels);
    if (!checkpoints.every(({ position }) => log.compare(position ?? undefined, head) >= 0))
      return false;
    return (await countUnfinishedErasures(pool, checkpoints)) === 0;
  };
}
