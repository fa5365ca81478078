import type { EventLog, SeenEvent } from '../event-log/event-log.js';
import type { SealStore } from './chain-seals.js';
import type { LogSeal } from './log-seal.js';

/** The newest sealed event that is still at its place in the log, and the one after it. */
interface SealedTail {
  readonly newestIntact: SeenEvent | undefined;
  /** Undefined: the newest sealed event is intact. */
  readonly firstMissing: SeenEvent | undefined;
}

/** Searches all seals backwards: a log that lost its end lost nothing before this event. */
export async function findSealedTail(
  log: EventLog,
  seals: SealStore,
  logSeal: LogSeal | undefined,
): Promise<SealedTail> {
  let firstMissing: SeenEvent | undefined;
  if (logSeal?.position && logSeal.eventId) {
    const newest = { position: logSeal.position, eventId: logSeal.eventId };
    if (await log.holds(newest)) return { newestIntact: newest, firstMissing };
    firstMissing = newest;
  }
  for await (const batch of seals.eventsBackwards()) {
    const newestFirst = batch.toSorted((a, b) => log.compare(b.position, a.position));
    for (const event of newestFirst) {
      if (await log.holds(event)) return { newestIntact: event, firstMissing };
      if (log.compare(event.position, firstMissing?.position) < 0 || firstMissing === undefined)
        firstMissing = event;
    }
  }
  return { newestIntact: undefined, firstMissing };
}
