import type { SeenEvent } from '../event-log.js';
import type { NewestSeen, Seen } from '../newest-seen.js';
import { asPortError, mayBeInvalidPosition, NoAnswer } from './eventstoredb-failures.js';
import { comparePositions, parseToken } from './eventstoredb-positions.js';
import { ENDS_UNNAMED_MAX, type EventStoreDbReads } from './eventstoredb-reads.js';
import type { EventStoreDbWire, WirePosition } from './eventstoredb-wire.js';

/** Compares the log with the newest event seen; a missing one means that the log went back. */
export class SeenComparison {
  constructor(
    private readonly seen: NewestSeen,
    private readonly reads: EventStoreDbReads,
  ) {}

  /** @throws {EventLogUnavailable} */
  async run(): Promise<void> {
    const { epoch, newest } = this.seen;
    if (newest !== undefined && !(await this.holds(newest))) this.seen.wentBack(newest, epoch);
  }

  async holds({ position, eventId }: SeenEvent): Promise<boolean> {
    const at = parseToken(position, this.reads.logId);
    if (at === undefined) return false;
    const { wire } = await this.reads.session();
    // The store was never reached: the position's log is unknown.
    if (parseToken(position, this.reads.logId) === undefined) return false;
    try {
      return await holdsOn(wire, { position: at, eventId }, this.reads.timeoutMs);
    } catch (error) {
      throw asPortError(error);
    }
  }

  /** On a new connection, before any other call over it. */
  async runOn(wire: EventStoreDbWire, ms: number): Promise<void> {
    const { epoch, newest } = this.seen;
    const at = newest && parseToken(newest.position, this.reads.logId);
    if (newest === undefined || at === undefined) return;
    if (!(await holdsOn(wire, { position: at, eventId: newest.eventId }, ms)))
      this.seen.wentBack(newest, epoch);
  }

  appended(event: Seen, epoch: number): void {
    const { newest } = this.seen;
    // Mostly an overtaken answer or a repetition; but a log that went back assigns positions again.
    if (newest !== undefined && event.ordinal <= newest.ordinal) this.run().catch(() => undefined);
    this.seen.note(event.ordinal, event, epoch);
  }
}

/**
 * Whether the event is at that position. An empty answer counts only when the store's newest event
 * is before the position, since a cancelled call also ends empty. A server without the position
 * refuses the read while it answers other calls.
 * @throws {NoAnswer} when it cannot be determined.
 */
async function holdsOn(
  wire: EventStoreDbWire,
  { position, eventId }: { readonly position: WirePosition; readonly eventId: string },
  ms: number,
): Promise<boolean> {
  for (let tries = 0; tries < ENDS_UNNAMED_MAX; tries++) {
    let isRefused = false;
    const { events } = await wire
      .read({ of: { prefixes: null, from: position }, count: 1 }, ms)
      .catch((error: unknown) => {
        if (!mayBeInvalidPosition(error)) throw error;
        isRefused = true;
        return { events: [] };
      });
    const [found] = events;
    if (found !== undefined)
      return comparePositions(found.position, position) === 0 && found.id === eventId;
    const [newest] = (
      await wire.read({ of: { prefixes: null, from: 'end' }, backwards: true, count: 1 }, ms)
    ).events;
    if (newest !== undefined && (isRefused || comparePositions(newest.position, position) < 0))
      return false;
  }
  throw new NoAnswer('EventStoreDB ends reads before their end');
}
