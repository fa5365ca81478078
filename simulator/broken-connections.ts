import type { SeededRandom } from './seeded-random.js';
import type { Owner, VirtualWorld } from './virtual-world.js';

/** In a hurried world a death breaks connections; who waits on one knows within this time. */
const NOTICED_MS = 100;
/** One in so many is silent instead, as with a machine that lost its power. */
const SILENT_ONCE_IN = 16;

export interface ConnectionEnds {
  readonly of: Owner;
  readonly to: Owner;
}

/** Calls who waits for a process when that process is killed. Returns how to stop. */
export function whenBroken(
  { world, random }: { readonly world: VirtualWorld; readonly random: SeededRandom },
  { of, to }: ConnectionEnds,
  notice: () => void,
): () => void {
  return of.onKilled(() => {
    if (world.isHurried && !random.onceIn(SILENT_ONCE_IN))
      world.hand(to, notice, random.below(NOTICED_MS));
  });
}
