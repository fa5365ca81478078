import type { EventLog, NewEvent, Position, RecordedEvent } from './event-log.js';

/** A page ends with the event that reaches this size: it is decoded as a whole. */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024;
const PAGE_EVENTS_MAX = 500;

/** Estimated by characters. */
export const storedBytes = ({ data, metadata }: Pick<NewEvent, 'data' | 'metadata'>): number =>
  data.length + metadata.length;

/** Ends at a fixed position: reading until an empty page would follow the writers. */
export async function* logPages(
  log: Pick<EventLog, 'readAll' | 'compare'>,
  {
    after,
    upTo,
    limit,
  }: {
    readonly after?: Position | undefined;
    /** Usually the head when reading begins. Undefined: the log is empty. */
    readonly upTo: Position | undefined;
    /** Events in a page. */
    readonly limit: number;
  },
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  for (let at = after; log.compare(at, upTo) < 0;) {
    const page = await log.readAll(at, limit);
    at = page.at(-1)?.position;
    if (at === undefined) return;
    yield log.compare(at, upTo) <= 0
      ? page
      : page.filter(({ position }) => log.compare(position, upTo) <= 0);
  }
}

/** Pages let a long stream be decoded in steps. */
export async function* pages(events: AsyncIterable<RecordedEvent>): AsyncIterable<RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  let bytes = 0;
  for await (const event of events) {
    page.push(event);
    bytes += storedBytes(event);
    if (page.length < PAGE_EVENTS_MAX && bytes < PAGE_BYTES_MAX) continue;
    yield page;
    page = [];
    bytes = 0;
  }
  if (page.length > 0) yield page;
}

export interface EventPlace {
  readonly stream: string;
  readonly revision: bigint;
  readonly eventId: string;
}

/** The event at this place; undefined: the log lost it. @throws {EventLogUnavailable} */
export async function eventAt(
  log: Pick<EventLog, 'readStream'>,
  { stream, revision, eventId }: EventPlace,
): Promise<RecordedEvent | undefined> {
  for await (const event of log.readStream(stream, { from: revision, limit: 1 }))
    return event.revision === revision && event.id === eventId ? event : undefined;
  return undefined;
}
