import type { Position, SeenEvent } from './event-log.js';

/** An event and where it stood, as it is kept beside what was made of the log up to there. */
export const witnessText = ({ position, eventId }: SeenEvent): string => `${position} ${eventId}`;

/**
 * @param position undefined: whichever. Undefined: nothing is known, or it is about another
 * position.
 */
export function parseWitness(text: string | null, position?: Position): SeenEvent | undefined {
  const [at, eventId] = text?.split(' ') ?? [];
  if (at === undefined || eventId === undefined || (position !== undefined && at !== position))
    return undefined;
  return { position: at, eventId };
}
