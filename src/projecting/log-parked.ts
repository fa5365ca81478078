import type { Logger } from '../foundation/logger.js';
import type { ParkedEvent } from './generations/generation-store.js';

/** The position identifies the event; `projection parked` shows its stream. */
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
