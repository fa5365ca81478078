import type { Logger } from '../foundation/logger.js';
import type { ParkedEvent } from './generations/generation-store.js';

/**
 * One line for each stream that was parked just now, after it was recorded. The position names the
 * event, because the names of streams are long and no help without `projection parked`.
 */
export function logParked(
  logger: Pick<Logger, 'error'> | undefined,
  { projection, generation }: { readonly projection: string; readonly generation: number },
  parked: readonly ParkedEvent[],
): void {
  for (const { position, reason } of parked)
    logger?.error(
      { projection, generation, position, error: reason },
      'an event cannot be applied: its stream is parked for this read model',
    );
}
