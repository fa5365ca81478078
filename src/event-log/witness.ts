import type { Position, SeenEvent } from './event-log.js';

/** An event and its position, stored with data derived from the log up to there. */
export const witnessText = ({ position, eventId }: SeenEvent): string => `${position} ${eventId}`;

/** @param position undefined: any. @returns undefined when unknown or about another position. */
export function parseWitness(text: string | null, position?: Position): SeenEvent | undefined {
  const [at, eventId] = text?.split(' ') ?? [];
  if (at === undefined || eventId === undefined || (position !== undefined && at !== position))
    return undefined;
  return { position: at, eventId };
}
