import { randomUUID } from 'node:crypto';
import { checkAppend } from './append-check.js';
import {
  NO_REVISION,
  proposedEvent,
  TOMBSTONE_REVISION,
  type ExpectedRevision,
  type ProposedEvent,
  type StoredEvent,
  type StreamPage,
  type WriteOutcome,
} from './stored-event.js';
import { StreamOfEvents } from './stream-of-events.js';

/** Which way a read goes, and where it starts. */
export interface StreamRead {
  readonly direction: 'forwards' | 'backwards';
  readonly from: 'start' | 'end' | number;
  readonly count: number;
  /**
   * How many events of the log the reader sees; all of them when absent. A follower that lags sees
   * fewer.
   */
  readonly visible?: number | undefined;
}

const SOFT_DELETED = '9223372036854775807';

/**
 * The log, in memory: one array over all streams, one array a stream. Nothing here waits, so every
 * call is atomic.
 */
export class EventStore {
  #log: StoredEvent[] = [];
  readonly #streams = new Map<string, StreamOfEvents>();
  readonly #listeners = new Set<() => void>();
  #nextPosition = 0;
  /** Records that are no events, by position: the place of the event that comes after them. */
  #otherRecords = new Map<number, number>();

  constructor(readonly now: () => number = Date.now) {
    // A server has written some things of its own before anybody else comes.
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
    const stream = this.#streams.get(name) ?? new StreamOfEvents(name);
    const ids = events.map(({ id }) => id);
    const decision = checkAppend(stream, expected, ids, this.#metadataExists(name));
    switch (decision.kind) {
      case 'write':
        return this.#write(stream, events);
      case 'repeat':
        return {
          kind: 'stored',
          revision: decision.revision,
          position: stream.events[decision.revision]?.position,
          repeated: true,
        };
      case 'wrong-expected-version':
      case 'stream-deleted':
        return decision;
    }
  }

  /**
   * Only the first events of the log are left, as on a server that was restored, or that never had
   * the others.
   */
  loseTail(left: number): void {
    const firstLost = this.#log[left];
    if (firstLost === undefined) return;
    this.#nextPosition = firstLost.position;
    this.#log = this.#log.slice(0, left);
    this.#otherRecords = new Map(
      [...this.#otherRecords].filter(([position]) => position < firstLost.position),
    );
    for (const [name, stream] of [...this.#streams]) {
      const kept = new StreamOfEvents(name);
      for (const event of stream.events) if (event.index < left) kept.push(event);
      if (kept.events.length > 0) this.#streams.set(name, kept);
      else this.#streams.delete(name);
    }
    for (const stream of [...this.#streams.values()]) this.#obeyMetadata(stream);
  }

  /** Hides what the stream holds; it can be written again, and numbers go on. */
  softDelete(name: string, expected: ExpectedRevision): WriteOutcome {
    return this.#delete(name, expected, (stream) => {
      if (stream.lastRevision === NO_REVISION && !this.#metadataExists(name)) {
        return { kind: 'wrong-expected-version', actual: NO_REVISION };
      }
      return this.#setTruncateBefore(name, SOFT_DELETED);
    });
  }

  /** Ends a stream for good. */
  tombstone(name: string, expected: ExpectedRevision): WriteOutcome {
    return this.#delete(name, expected, (stream) => {
      this.#streams.set(name, stream);
      const deleted = proposedEvent({
        id: randomUUID(),
        type: '$streamDeleted',
        data: undefined,
        isJson: false,
      });
      stream.tombstone = this.#record(name, TOMBSTONE_REVISION, deleted);
      this.#tell();
      return {
        kind: 'stored',
        revision: TOMBSTONE_REVISION,
        position: stream.tombstone.position,
        repeated: false,
      };
    });
  }

  readStream(
    name: string,
    { direction, from, count, visible = this.size }: StreamRead,
  ): StreamPage {
    const stream = this.#streams.get(name);
    if (!stream) return { kind: 'stream-not-found' };
    if (stream.tombstone && stream.tombstone.index < visible) return { kind: 'stream-deleted' };
    if (stream.lastVisible(visible) === NO_REVISION || stream.softDeleted)
      return { kind: 'stream-not-found' };
    if (direction === 'forwards') {
      const asked = from === 'start' ? 0 : from === 'end' ? TOMBSTONE_REVISION : from;
      const first = Math.max(asked, stream.firstShown(visible));
      return { kind: 'events', events: stream.slice(first, first + count - 1, visible) };
    }
    const last =
      from === 'start'
        ? 0
        : Math.min(from === 'end' ? TOMBSTONE_REVISION : from, stream.lastVisible(visible));
    return {
      kind: 'events',
      events: stream.slice(Math.max(0, last - count + 1), last, visible).toReversed(),
    };
  }

  /** All events of a stream, oldest first; none when nothing is shown. For assertions. */
  eventsOf(name: string): readonly StoredEvent[] {
    const page = this.readStream(name, {
      direction: 'forwards',
      from: 'start',
      count: TOMBSTONE_REVISION,
    });
    return page.kind === 'events' ? page.events : [];
  }

  /** The names of all streams that hold events, those of the server included. */
  streamNames(): string[] {
    return [...this.#streams.values()]
      .filter(({ events }) => events.length > 0)
      .map(({ name }) => name);
  }

  /** The event at this place of the log. */
  at(index: number): StoredEvent | undefined {
    return this.#log[index];
  }

  /** The last revision of a stream among the first `visible` events of the log. */
  lastRevision(name: string, visible = this.size): number {
    const stream = this.#streams.get(name);
    if (!stream) return NO_REVISION;
    return stream.tombstone && stream.tombstone.index < visible
      ? TOMBSTONE_REVISION
      : stream.lastVisible(visible);
  }

  isSoftDeleted(name: string): boolean {
    return this.#streams.get(name)?.softDeleted === true;
  }

  /** The event of a stream that comes next after this revision, the tombstone included. */
  eventAfter(name: string, revision: number, visible = this.size): StoredEvent | undefined {
    const stream = this.#streams.get(name);
    if (!stream) return undefined;
    const next = stream.events[Math.max(revision + 1, stream.firstShown(visible))];
    if (next && next.index < visible) return next;
    const { tombstone } = stream;
    return tombstone && tombstone.index < visible && revision < TOMBSTONE_REVISION
      ? tombstone
      : undefined;
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
    return this.#otherRecords.get(position);
  }

  /** Calls back after every write, until the function that is returned is called. */
  onWrite(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #write(stream: StreamOfEvents, events: readonly ProposedEvent[]): WriteOutcome {
    if (events.length === 0) return this.#writeNothing(stream);
    const undelete = stream.softDeleted;
    const first = stream.lastRevision + 1;
    this.#streams.set(stream.name, stream);
    for (const event of events)
      stream.push(this.#record(stream.name, stream.lastRevision + 1, event));
    this.#obeyMetadata(stream);
    if (undelete) this.#setTruncateBefore(stream.name, String(first));
    this.#tell();
    return {
      kind: 'stored',
      revision: stream.lastRevision,
      position: stream.events.at(-1)?.position,
      repeated: false,
    };
  }

  /** A write without events leaves a record that no reader sees, and answers with its position. */
  #writeNothing(stream: StreamOfEvents): WriteOutcome {
    return {
      kind: 'stored',
      revision: stream.lastRevision,
      position: this.#recordOther(),
      repeated: false,
    };
  }

  #recordOther(): number {
    const position = this.#nextPosition;
    this.#otherRecords.set(position, this.#log.length);
    this.#nextPosition += 110;
    return position;
  }

  #record(stream: string, revision: number, event: ProposedEvent): StoredEvent {
    const stored: StoredEvent = {
      id: event.id,
      type: event.type,
      isJson: event.isJson,
      data: event.data,
      metadata: event.metadata,
      index: this.#log.length,
      position: this.#nextPosition,
      stream,
      revision,
      created: this.now(),
    };
    this.#log.push(stored);
    // What a record takes on disk, more or less; every hundredth is followed by one that is no
    // event.
    this.#nextPosition +=
      80 + stream.length + event.type.length + event.data.length + event.metadata.length;
    if (this.#log.length % 100 === 0) this.#recordOther();
    return stored;
  }

  #delete(
    name: string,
    expected: ExpectedRevision,
    carryOut: (stream: StreamOfEvents) => WriteOutcome,
  ): WriteOutcome {
    const stream = this.#streams.get(name) ?? new StreamOfEvents(name);
    const decision = checkAppend(stream, expected, [randomUUID()], this.#metadataExists(name));
    switch (decision.kind) {
      case 'write':
      case 'repeat':
        return carryOut(stream);
      case 'wrong-expected-version':
      case 'stream-deleted':
        return decision;
    }
  }

  #metadataExists(name: string): boolean {
    return (this.#streams.get(`$$${name}`)?.lastRevision ?? NO_REVISION) > NO_REVISION;
  }

  #setTruncateBefore(
    name: string,
    revision: string,
    other: Readonly<Record<string, unknown>> = {},
  ): WriteOutcome {
    const metastream = `$$${name}`;
    const others = Object.entries(other).map(
      ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)},`,
    );
    const event = proposedEvent({
      id: randomUUID(),
      type: '$metadata',
      data: `{${others.join('')}"$tb":${revision}}`,
    });
    return this.#write(this.#streams.get(metastream) ?? new StreamOfEvents(metastream), [event]);
  }

  /**
   * What an application says of a stream that is soft-deleted brings it back, without what was
   * deleted.
   */
  #obeyMetadata(metastream: StreamOfEvents): void {
    const said = metastream.events.at(-1);
    if (!said || !metastream.name.startsWith('$$')) return;
    const name = metastream.name.slice(2);
    const stream = this.#streams.get(name) ?? new StreamOfEvents(name);
    this.#streams.set(name, stream);
    const wasDeleted = stream.softDeleted;
    const { $tb, ...others } = stream.obey(said.data);
    if (wasDeleted && $tb === undefined)
      this.#setTruncateBefore(name, String(stream.lastRevision + 1), others);
  }

  /**
   * Makes all readers look again, for instance when a follower sees more of the log than before.
   */
  tell(): void {
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
