import { NO_REVISION, TOMBSTONE_REVISION, type StoredEvent } from './stored-event.js';

interface StreamMetadata {
  readonly $tb?: number;
  readonly $maxCount?: number;
}

/** One stream: its events, what of them is still shown, and which ids stand where. */
export class StreamOfEvents {
  /** By revision; the tombstone is not among them. */
  readonly events: StoredEvent[] = [];
  /**
   * Events before this revision are not shown; TOMBSTONE_REVISION stands for a soft-deleted stream.
   */
  truncateBefore = 0;
  maxCount: number;
  tombstone: StoredEvent | undefined;
  #revisions: Map<string, number> | undefined;

  constructor(readonly name: string) {
    // Of a metadata stream only the newest event is shown.
    this.maxCount = name.startsWith('$$') ? 1 : Number.POSITIVE_INFINITY;
  }

  get lastRevision(): number {
    return this.tombstone ? TOMBSTONE_REVISION : this.events.length - 1;
  }

  get softDeleted(): boolean {
    return this.truncateBefore >= TOMBSTONE_REVISION;
  }

  push(event: StoredEvent): void {
    this.events.push(event);
    this.#revisions?.set(event.id, event.revision);
  }

  /**
   * The newest revision that holds this event id. Looked up for "any" and "stream exists" alone, so
   * made when first asked for.
   */
  revisionOf(eventId: string): number | undefined {
    this.#revisions ??= new Map(this.events.map(({ id, revision }) => [id, revision]));
    return this.#revisions.get(eventId);
  }

  /**
   * Takes over what an event of the metadata stream says, and returns all of it; most of it is the
   * application's own.
   */
  obey(metadata: Uint8Array): StreamMetadata {
    const said = jsonObject(metadata);
    // The number that marks a soft delete, 2^63 - 1, reads as 2^63.
    this.truncateBefore =
      said.$tb === undefined ? 0 : said.$tb >= 2 ** 63 ? TOMBSTONE_REVISION : said.$tb;
    this.maxCount = said.$maxCount ?? Number.POSITIVE_INFINITY;
    return said;
  }

  /**
   * The events from `first` to `last`, both included, as far as they are shown to a reader who sees
   * `visible` events of the log.
   */
  slice(first: number, last: number, visible: number): readonly StoredEvent[] {
    const shown = Math.max(first, this.firstShown(visible));
    const until = Math.min(last, this.lastVisible(visible));
    return until < shown ? [] : this.events.slice(shown, until + 1);
  }

  /** The first revision that is not cut off by the stream's metadata. */
  firstShown(visible: number): number {
    return Math.max(0, this.truncateBefore, this.lastVisible(visible) - this.maxCount + 1);
  }

  /**
   * The last revision among the first `visible` events of the log; NO_REVISION when there is none.
   */
  lastVisible(visible: number): number {
    let low = NO_REVISION;
    let high = this.events.length - 1;
    if (high < 0 || this.events[high]!.index < visible) return high;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.events[middle]!.index < visible) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function jsonObject(bytes: Uint8Array): StreamMetadata {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // Anything may be appended to a metadata stream; what is no JSON says nothing.
    return {};
  }
}
