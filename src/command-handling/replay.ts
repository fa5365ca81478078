import type { DomainEvent } from '../domain/events.js';
import type { EventCodec } from '../event-log/codec.js';
import type { EventLog } from '../event-log/event-log.js';
import { pages } from '../event-log/event-pages.js';
import { fold, emptyStream, type Folding } from './fold-stream.js';
import type { Folded } from './stream-cache.js';

/** A command's recorded events and the state after them. */
export interface Replayed<S, E> {
  readonly events: readonly E[];
  /** In the order of `events`. */
  readonly eventIds: readonly string[];
  /** Right after `events`. */
  readonly asOf: Folded<S>;
}

/** @param lastRevision the revision of the command's newest event. */
export async function replay<S, E extends DomainEvent>(
  {
    log,
    codec,
    folding,
  }: {
    readonly log: Pick<EventLog, 'readStream'>;
    readonly codec: EventCodec;
    readonly folding: Folding<S, E>;
  },
  stream: string,
  { lastRevision, commandId }: { readonly lastRevision: bigint; readonly commandId: string },
): Promise<Replayed<S, E>> {
  let asOf = emptyStream(folding);
  const events: E[] = [];
  const eventIds: string[] = [];
  for await (const page of pages(log.readStream(stream))) {
    const decoded = (await codec.decodeAll(page)).filter(
      ({ recorded }) => recorded.revision <= lastRevision,
    );
    asOf = fold(folding, asOf, decoded);
    for (const { event, envelope, recorded } of decoded) {
      if (envelope.commandId !== commandId) continue;
      events.push(event as E);
      eventIds.push(recorded.id);
    }
    if (decoded.length < page.length) break;
  }
  return { events, eventIds, asOf };
}
