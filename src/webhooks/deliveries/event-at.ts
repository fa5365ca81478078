import type { EventLog, RecordedEvent } from '../../event-log/event-log.js';

/**
 * The event at this revision of a stream; undefined: the log lost it.
 * @throws {EventLogUnavailable}
 */
export async function eventAt(
  log: Pick<EventLog, 'readStream'>,
  stream: string,
  revision: bigint,
): Promise<RecordedEvent | undefined> {
  for await (const event of log.readStream(stream, { from: revision })) return event;
  return undefined;
}
