import { LRUCache } from 'lru-cache';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { logPages } from '../../event-log/event-pages.js';

const PAGE = 1_000;
const REMEMBERED_MAX = 1_000;

/** The form of every position; other texts are not searched for. */
const POSITION = /^[0-9a-f]{8}-\d{1,20}(-\d{1,20})?$/;

/** The position of a copied event in this log never changes. */
const remembered = new WeakMap<EventLog, LRUCache<Position, Position>>();

/**
 * Translates the position that an event had in the log that recorded it first into one of this log.
 * Reads the log from its beginning up to that event and remembers the answer. Undefined: no event
 * has that origin.
 */
export async function positionOfOrigin(
  log: EventLog,
  origin: Position,
): Promise<Position | undefined> {
  if (!POSITION.test(origin)) return undefined;
  const known = remembered.get(log) ?? new LRUCache<Position, Position>({ max: REMEMBERED_MAX });
  remembered.set(log, known);
  const found = known.get(origin) ?? (await search(log, origin));
  if (found !== undefined) known.set(origin, found);
  return found;
}

async function search(log: EventLog, origin: Position): Promise<Position | undefined> {
  for await (const page of logPages(log, { upTo: await log.head(), limit: PAGE })) {
    const found = page.find((event) => event.origin?.position === origin);
    if (found !== undefined) return found.position;
  }
  return undefined;
}
