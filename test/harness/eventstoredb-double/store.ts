import { randomUUID } from 'node:crypto';
import { checkAppend } from './append-check.js';
import {
  NO_REVISION,
  proposedEvent,
  type ExpectedRevision,
  type ProposedEvent,
  type StoredEvent,
  type StreamPage,
  type WriteOutcome,
} from './stored-event.js';

/** Which way a read goes, and where it starts. */
export interface StreamRead {
  readonly direction: 'forwards' | 'backwards';
  readonly from: 'end' | number;
  readonly count: number;
  /** How many events of the log a lagging follower sees; default all. */
  readonly visible?: number | undefined;
}

/** The log, in memory. Every call is atomic. */
export class EventStore {
  #log: StoredEvent[] = [];
  #streams = new Map<string, StoredEvent[]>();
  readonly #deleted = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #nextPosition = 0;

  constructor(readonly now: () => number = Date.now) {
    // A server writes some events of its own before its first client comes.
    this.append('$users', 'no_stream', [
      proposedEvent({ id: randomUUID(), type: '$User', data: 'admin' }),
      proposedEvent({ id: randomUUID(), type: '$User', data: 'ops' }),
    ]);
  }

  /** How many events there are. */
  get size(): number {
    return this.#log.length;
  }

  /** Where the next record will start: the end of the log. */
  get nextPosition(): number {
    return this.#nextPosition;
  }

  append(name: string, expected: ExpectedRevision, events: readonly ProposedEvent[]): WriteOutcome {
    if (this.#deleted.has(name)) return { kind: 'stream-deleted' };
    const stream = this.#streams.get(name) ?? [];
    const decision = checkAppend(
      stream,
      expected,
      events.map(({ id }) => id),
    );
    if (decision.kind === 'wrong-expected-version') return decision;
    if (decision.kind === 'write') {
      this.#streams.set(name, stream);
      for (const event of events) stream.push(this.#record(name, stream.length, event));
      this.tell();
    }
    const revision = decision.kind === 'write' ? stream.length - 1 : decision.revision;
    return { kind: 'stored', revision, position: stream[revision]?.position ?? 0 };
  }

  /** Keeps the first events only, as a restored server. */
  loseTail(left: number): void {
    const firstLost = this.#log[left];
    if (firstLost === undefined) return;
    this.#nextPosition = firstLost.position;
    this.#log = this.#log.slice(0, left);
    this.#streams = new Map(
      [...this.#streams]
        .map(([name, stream]) => [name, stream.filter(({ index }) => index < left)] as const)
        .filter(([, stream]) => stream.length > 0),
    );
  }

  /** Deletes a stream finally. */
  tombstone(name: string): void {
    this.#deleted.add(name);
  }

  readStream(
    name: string,
    { direction, from, count, visible = this.size }: StreamRead,
  ): StreamPage {
    if (this.#deleted.has(name)) return { kind: 'stream-deleted' };
    const last = this.lastRevision(name, visible);
    const stream = this.#streams.get(name)?.slice(0, last + 1);
    if (!stream || last === NO_REVISION) return { kind: 'stream-not-found' };
    if (direction === 'forwards')
      return { kind: 'events', events: from === 'end' ? [] : stream.slice(from, from + count) };
    const newest = from === 'end' ? last : Math.min(from, last);
    const oldest = Math.max(0, newest - count + 1);
    return { kind: 'events', events: stream.slice(oldest, newest + 1).reverse() };
  }

  /** All events of a stream, oldest first. For assertions. */
  eventsOf(name: string): readonly StoredEvent[] {
    return this.#streams.get(name) ?? [];
  }

  /** The names of all streams that hold events, those of the server included. */
  streamNames(): string[] {
    return [...this.#streams.keys()];
  }

  /** The event at this place of the log. */
  at(index: number): StoredEvent | undefined {
    return this.#log[index];
  }

  /** The last revision of a stream among the first `visible` events of the log. */
  lastRevision(name: string, visible = this.size): number {
    return (this.#streams.get(name) ?? []).findLastIndex(({ index }) => index < visible);
  }

  /**
   * The place of the event at this very position; undefined when no record starts there. From the
   * end of the log on, it is the end.
   */
  indexAt(position: number): number | undefined {
    if (position >= this.#nextPosition) return this.#log.length;
    let low = 0;
    let high = this.#log.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.#log[middle]!.position;
      if (found === position) return middle;
      if (found < position) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }

  /** Calls back after every write, until the function that is returned is called. */
  onWrite(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** All readers look again, for instance when a follower sees more of the log than before. */
  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #record(stream: string, revision: number, event: ProposedEvent): StoredEvent {
    const position = this.#nextPosition;
    const place = { index: this.#log.length, position, stream, revision };
    const stored: StoredEvent = { ...event, ...place, created: this.now() };
    this.#log.push(stored);
    // About what a record takes on disk.
    this.#nextPosition += 80 + stream.length + event.data.length + event.metadata.length;
    return stored;
  }
}
