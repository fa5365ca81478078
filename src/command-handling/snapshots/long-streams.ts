import type { DomainEvent } from '../../domain/events.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { EventLog, RecordedEvent } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { subjectsIn } from '../../privacy/sealed-values.js';
import { emptyStream, fold, type Folding } from '../fold-stream.js';
import type { Folded } from '../stream-cache.js';
import type { SealedSnapshots } from './sealed-snapshots.js';

/** When a snapshot is looked for, and when one is written. */
export interface SnapshotLimits {
  /** A stream whose first page has fewer events is folded from them at once. */
  readonly readFrom: number;
  /** A fold of so many events is worth a snapshot. */
  readonly writtenAfter: number;
}

const LIMITS: SnapshotLimits = { readFrom: 200, writtenAfter: 2_000 };

/** A stream that was read from its beginning, or from a snapshot. */
export interface ReadStream<S> {
  readonly folded: Folded<S>;
  /** Writes a snapshot of it in the background, where that is worth it. */
  readonly keep: () => void;
}

/** Reads streams of which nothing is cached, the long ones from a snapshot. */
export class LongStreams<S, E extends DomainEvent> {
  constructor(
    private readonly log: EventLog,
    private readonly codec: EventCodec,
    private readonly folding: Folding<S, E>,
    private readonly snapshots?: SealedSnapshots,
    private readonly limits = LIMITS,
  ) {}

  /** @throws {LogWentBack} {UnreadableEvent} */
  async read(stream: string, epoch: number): Promise<ReadStream<S>> {
    const fresh = new Reading({ ...emptyStream(this.folding), epoch });
    for await (const page of pages(this.log.readStream(stream))) {
      if (fresh.events === 0 && page.length >= this.limits.readFrom) {
        const behind = await this.readBehindSnapshot(stream, epoch);
        if (behind) return this.readStream(stream, behind);
      }
      await this.take(fresh, page);
    }
    return this.readStream(stream, fresh);
  }

  /** Undefined: there is no snapshot, or the log does not have its event. */
  private async readBehindSnapshot(stream: string, epoch: number): Promise<Reading<S> | undefined> {
    const found = await this.snapshots?.find(stream);
    if (found === undefined) return undefined;
    const { revision, eventId, subjects, handled, bytes } = found;
    let reading: Reading<S> | undefined;
    // Without the event as an end that must exist: a snapshot of a log that lost it says nothing
    // about what this process has read.
    for await (const page of pages(this.log.readStream(stream, { from: revision }))) {
      let behind: readonly RecordedEvent[] = page;
      if (reading === undefined) {
        const [at, ...rest] = page;
        if (at?.revision !== revision || at.id !== eventId) break;
        const { position } = at;
        const state = found.state as S;
        const folded = { state, revision, position, eventId, epoch, handled, bytes };
        reading = new Reading(folded, subjects);
        behind = rest;
      }
      await this.take(reading, behind);
    }
    if (reading === undefined) await this.snapshots?.drop(stream);
    return reading;
  }

  private async take(reading: Reading<S>, page: readonly RecordedEvent[]): Promise<void> {
    const decoded = await this.codec.decodeAll(page);
    reading.events += page.length;
    if (this.snapshots)
      subjectsIn(
        decoded.map(({ event }) => event),
        reading.subjects,
      );
    reading.folded = fold(this.folding, reading.folded, decoded);
  }

  private readStream(stream: string, { folded, events, subjects }: Reading<S>): ReadStream<S> {
    const { revision, eventId, state, handled, bytes } = folded;
    const keep = (): void => {
      if (events < this.limits.writtenAfter || revision === 'no-stream' || eventId === null) return;
      const place = { revision, eventId, subjects: [...subjects] };
      this.snapshots?.keep(stream, { ...place, state, handled, bytes });
    };
    return { folded, keep };
  }
}

class Reading<S> {
  /** Events that were folded. */
  events = 0;
  /** The people whose values were among them. */
  readonly subjects: Set<string>;

  constructor(
    public folded: Folded<S>,
    subjects: Iterable<string> = [],
  ) {
    this.subjects = new Set(subjects);
  }
}
