import { accountProjectors } from '../../projections/account-projectors.js';
import type { Core } from '../../src/stores/core.js';
import { liveCheckpoints } from '../../src/projecting/checkpoints.js';
import { eventually } from './embedded.js';

/** Waits until all read models have the newest event: before a test changes their rows. */
export async function everythingProjected({
  log,
  pool,
}: Pick<Core, 'log' | 'pool'>): Promise<void> {
  const head = await log.head();
  await eventually(async () => {
    const checkpoints = await liveCheckpoints(pool, accountProjectors);
    return checkpoints.every(
      ({ position }) => position !== undefined && log.compare(position, head) >= 0,
    );
  });
}
