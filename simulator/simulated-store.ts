import { CLOCK_AHEAD_MS_MAX, LogAheadOfClock } from '../src/event-log/clock.js';
import {
  appendBytes,
  type AppendResult,
  type ExpectedRevision,
  type NewEvent,
  type RecordedEvent,
  type SeenEvent,
  type StreamEnd,
} from '../src/event-log/event-log.js';
import { PAGE_BYTES_MAX } from '../src/event-log/event-pages.js';
import { withOrigins } from '../src/event-log/first-recorded.js';
import { PostgresPositions } from '../src/event-log/postgres/postgres-positions.js';
import type { SeededRandom } from './seeded-random.js';

const LOST_WITHIN_MS = 60_000;
const NO_EVENTS: readonly RecordedEvent[] = [];

/** What the processes of a simulated service share: the log as its server holds it. */
export class SimulatedStore {
  private events: RecordedEvent[] = [];
  private byStream = new Map<string, RecordedEvent[]>();
  private readonly listeners = new Set<(position: bigint) => void>();
  private losses = 0;
  /** How many events there were before each append. */
  private appends: number[] = [];
  private safe = 0;
  private readonly gone: RecordedEvent[] = [];
  /** Up to this time an operator has accepted events, also those whose acceptance is lost. */
  private acceptedUpTo = -Infinity;

  /** @param clock epoch milliseconds of the server. */
  constructor(
    readonly logId: string,
    private readonly clock: () => number,
    readonly positions = new PostgresPositions(logId),
  ) {}

  /** How often the log lost its end: every connection breaks then. */
  get era(): number {
    return this.losses;
  }

  get head(): bigint {
    return BigInt(this.events.length);
  }

  /** Every event, in order. */
  get all(): readonly RecordedEvent[] {
    return this.events;
  }

  streams(): Iterable<string> {
    return this.byStream.keys();
  }

  stream(name: string): readonly RecordedEvent[] {
    return this.byStream.get(name) ?? NO_EVENTS;
  }

  /** A page of events: at most so many, and none after those that fill its bytes. */
  behind(position: bigint, limit: number): readonly RecordedEvent[] {
    const page = this.events.slice(Number(position), Number(position) + limit);
    let bytes = 0;
    const full = page.findIndex((event) => (bytes += appendBytes([event])) >= PAGE_BYTES_MAX);
    return full < 0 ? page : page.slice(0, full + 1);
  }

  at(position: bigint): RecordedEvent | undefined {
    return this.events[Number(position) - 1];
  }

  holds({ position, eventId }: SeenEvent): boolean {
    const ordinal = this.positions.parse(position);
    return ordinal !== undefined && this.at(ordinal)?.id === eventId;
  }

  /**
   * As every adapter promises it: all or nothing, at this revision, behind this event; the same ids
   * once more are the first append once more.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end: StreamEnd | undefined,
  ): AppendResult & { readonly isRepeated?: boolean } {
    const known = this.byStream.get(stream) ?? [];
    const actual = known.at(-1)?.revision ?? 'no-stream';
    const first = expected === 'no-stream' ? 0 : Number(expected) + 1;
    const isRepeated = events.every(({ id }, index) => known[first + index]?.id === id);
    if (isRepeated) {
      const last = known[first + events.length - 1] as RecordedEvent;
      return { kind: 'appended', position: last.position, revision: last.revision, isRepeated };
    }
    if (actual !== expected || (end !== undefined && end.eventId !== known.at(-1)?.id))
      return { kind: 'conflict', expected, actual };
    const recordedAt = this.clock();
    this.checkClock(recordedAt);
    this.byStream.set(stream, known);
    this.appends.push(this.events.length);
    for (const { id, type, data, metadata } of withOrigins(events)) {
      const recorded = {
        id,
        type,
        data,
        metadata,
        stream,
        revision: BigInt(known.length),
        position: this.positions.token(this.head + 1n),
        recordedAt,
      };
      this.events.push(recorded);
      known.push(recorded);
    }
    for (const tell of this.listeners) tell(this.head);
    const { position, revision } = known.at(-1) as RecordedEvent;
    return { kind: 'appended', position, revision };
  }

  /** An operator accepts a newest event that is ahead of the clock. */
  acceptClock(): void {
    this.acceptedUpTo = Math.max(this.acceptedUpTo, this.events.at(-1)?.recordedAt ?? 0);
  }

  private checkClock(now: number): void {
    const newest = this.events.at(-1)?.recordedAt ?? 0;
    if (newest > Math.max(this.acceptedUpTo, now + CLOCK_AHEAD_MS_MAX)) throw new LogAheadOfClock();
  }

  /** Calls with the newest position after each append. Returns how to stop. */
  listen(listener: (position: bigint) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** What is there by now is never lost. */
  keepSoFar(): void {
    this.safe = this.events.length;
  }

  /**
   * The log comes back without its newest appends, as a server that had not received them: none of
   * them is old. Who was erased stays erased, so that an erasure is not lost.
   */
  loseTail(appends: number): void {
    const oldest = this.clock() - LOST_WITHIN_MS;
    let kept = this.events.length;
    for (const before of this.appends.slice(-appends).reverse()) {
      const [first] = this.events.slice(before);
      if (before < this.safe || first === undefined || first.recordedAt < oldest) break;
      if (this.events.slice(before, kept).some(({ type }) => type === 'ErasureRequested')) break;
      kept = before;
    }
    this.keepOnly(kept);
  }

  /** Loses everything after the first events. */
  keepOnly(kept: number): void {
    if (kept >= this.events.length) return;
    const lost = this.events.splice(kept);
    this.appends = this.appends.filter((before) => before < kept);
    for (const { stream } of lost) {
      const known = this.byStream.get(stream);
      known?.pop();
      if (known?.length === 0) this.byStream.delete(stream);
    }
    this.gone.push(...lost);
    this.losses += 1;
  }

  /** An event is changed where it is stored. */
  tamper(event: RecordedEvent, random: SeededRandom): void {
    const changes: readonly Partial<RecordedEvent>[] = [
      { data: `${event.data} ` },
      { metadata: `${event.metadata} ` },
      { recordedAt: event.recordedAt + 1 },
      { type: `${event.type}2` },
    ];
    this.events[this.events.indexOf(event)] = { ...event, ...random.oneOf(changes) };
  }

  /** Events that were recorded and lost. */
  get lost(): readonly RecordedEvent[] {
    return this.gone;
  }
}
