import type { EventLog, SeenEvent } from '../event-log/event-log.js';
import type { ChainSeals } from './chain-seals.js';
import type { LogSeal } from './log-seal.js';

/** The newest sealed event that the log still holds where it was sealed, and the one behind it. */
export interface SealedTail {
  readonly standing: SeenEvent | undefined;
  readonly firstMissing: SeenEvent | undefined;
}

/**
 * Looks from the newest sealed event backwards, through the seals of all chains and that of the
 * log, until one is found that stands where it was sealed. A log that lost its end lost nothing
 * before that one.
 */
export async function sealedTail(
  log: EventLog,
  seals: ChainSeals,
  logSeal: LogSeal | undefined,
): Promise<SealedTail> {
  let firstMissing: SeenEvent | undefined;
  if (logSeal?.position && logSeal.eventId) {
    const newest = { position: logSeal.position, eventId: logSeal.eventId };
    if (await log.holds(newest)) return { standing: newest, firstMissing };
    firstMissing = newest;
  }
  for await (const batch of seals.eventsBackwards()) {
    const newestFirst = batch.toSorted((a, b) => log.compare(b.position, a.position));
    for (const event of newestFirst) {
      if (await log.holds(event)) return { standing: event, firstMissing };
      if (log.compare(event.position, firstMissing?.position) < 0 || firstMissing === undefined)
        firstMissing = event;
    }
  }
  return { standing: undefined, firstMissing };
}

/**
 * The first sealed event behind which nothing is as it was sealed; undefined: the newest one
 * stands.
 */
export async function firstMissing(
  log: EventLog,
  seals: ChainSeals,
  logSeal: LogSeal | undefined,
): Promise<SeenEvent | undefined> {
  return (await sealedTail(log, seals, logSeal)).firstMissing;
}
