import type { Position, RecordedEvent } from '../event-log/event-log.js';
import type { DecodeEvents, LedgerEvent, UndecodableEvent } from './projector.js';

export interface PageEvent {
  readonly recorded: RecordedEvent;
  readonly decoded: LedgerEvent | undefined;
  /** Set if and only if `decoded` is not. */
  readonly undecodable: UndecodableEvent | undefined;
}

/** A part of the log, decoded once for all its readers. Never empty. */
export interface Page {
  readonly events: readonly PageEvent[];
  readonly last: Position;
  readonly lastEventId: string;
}

export async function decodePage(
  recorded: readonly RecordedEvent[],
  decode: DecodeEvents,
): Promise<Page | undefined> {
  const last = recorded.at(-1);
  if (!last) return undefined;
  const decoded = await decode(recorded);
  if (decoded.length !== recorded.length)
    throw new Error(`${recorded.length} events went into decoding, ${decoded.length} came out`);
  const events = recorded.map((stored, index): PageEvent => {
    const result = decoded[index];
    if (result && 'event' in result)
      return { recorded: stored, decoded: result, undecodable: undefined };
    const { stream, revision, position } = stored;
    const undecodable = result ?? { undecodable: 'no result', stream, revision, position };
    return { recorded: stored, decoded: undefined, undecodable };
  });
  return { events, last: last.position, lastEventId: last.id };
}
