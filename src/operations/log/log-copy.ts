import {
  APPEND_BYTES_MAX,
  appendBytes,
  type EventLog,
  type Position,
  type RecordedEvent,
} from '../../event-log/event-log.js';
import { notDone } from '../outcome.js';
import { headOf, LogReader, patiently, Stopped, type Patience } from './log-reader.js';

export interface CopyOptions extends Patience {
  /** The last event to copy; null: the source is empty. */
  readonly upTo: Position | null;
  /** Number of the source's events that the target has. */
  readonly onProgress?: (events: number) => void;
}

const APPEND_EVENTS_MAX = 500;

/**
 * Makes the target hold the same events as the source, in the order of the whole log: ids, streams,
 * revisions, types, stored bytes, and original positions and times. Events that the target has
 * already must be the source's first ones, and are left unchanged. So a stopped copy continues, and
 * an earlier one gets the new events, without another record. @throws {Stopped}
 * @throws {EventLogUnavailable} @throws {NotDone}
 */
export async function copyLog(source: EventLog, target: EventLog, options: CopyOptions) {
  const { upTo, onProgress } = options;
  const from = new LogReader(source, options, upTo);
  const copied = new LogReader(target, options, await headOf(target, options));
  const found = await skipCopied(from, copied, options);
  // Strictly one after the other: two appends in flight could change the order of the log.
  for (let rest = await from.ahead(); rest.length > 0; rest = await from.ahead()) {
    if (options.signal.aborted) throw new Stopped();
    const events = nextAppend(rest);
    await appendTo(target, events, options);
    from.take(events.length);
    onProgress?.(from.count);
  }
  return {
    /** Number of events that the target had before. */
    found,
    appended: from.count - found,
  };
}

/** Reads both logs in parallel until the target ends. */
async function skipCopied(
  source: LogReader,
  target: LogReader,
  { onProgress }: CopyOptions,
): Promise<number> {
  for (;;) {
    const [expected, found] = await Promise.all([source.ahead(), target.ahead()]);
    const count = Math.min(expected.length, found.length);
    const [behind] = found;
    if (count === 0 && behind !== undefined)
      throw notDone(
        `the target holds other streams of this service: it continues after the ${source.count} events of the source, with ${behind.stream}`,
      );
    if (count === 0) return source.count;
    const other = found.findIndex(
      (event, index) => index < count && !isSame(event, expected[index]),
    );
    if (other >= 0)
      throw notDone(
        `the target holds other streams of this service: its event ${source.count + other + 1}, in ${found[other]?.stream}, is not the source's`,
      );
    source.take(count);
    target.take(count);
    onProgress?.(source.count);
  }
}

function isSame(a: RecordedEvent, b: RecordedEvent | undefined): boolean {
  if (b === undefined || a.id !== b.id || a.stream !== b.stream || a.revision !== b.revision)
    return false;
  return a.type === b.type && a.data === b.data && a.metadata === b.metadata;
}

/** The longest first part that fits in one append: one stream, within the limits of the port. */
function nextAppend(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  const stream = events[0]?.stream;
  let bytes = 0;
  let count = 0;
  for (const event of events.slice(0, APPEND_EVENTS_MAX)) {
    bytes += appendBytes([event]);
    if (event.stream !== stream || (count > 0 && bytes > APPEND_BYTES_MAX)) break;
    count += 1;
  }
  return events.slice(0, count);
}

async function appendTo(
  target: EventLog,
  events: readonly RecordedEvent[],
  patience: Patience,
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const expected = first.revision === 0n ? 'no-stream' : first.revision - 1n;
  // For a copy of a copy: the origin in its first log.
  const copies = events.map(
    ({ id, type, data, metadata, recordedAt, position, origin = { position, recordedAt } }) => ({
      id,
      type,
      data,
      metadata,
      origin,
    }),
  );
  // Repeated after a lost answer, the append is recognised by the log.
  const result = await patiently(patience, () => target.append(first.stream, expected, copies));
  const { revision, stream } = first;
  if (result.kind === 'conflict')
    throw notDone(
      `the target does not take revision ${revision} of ${stream}: another process writes to it; run the same command again, which continues or names what differs`,
    );
}
