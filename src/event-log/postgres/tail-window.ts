import type { RecordedEvent } from '../event-log.js';
import { elapsed } from '../../foundation/world.js';

const EVENTS_MAX = 1_000;
const CHARACTERS_MAX = 1024 * 1024;
/** What was read longer ago proves too little of what the log holds now. */
const AGE_MS_MAX = 1_000;

/** What was read behind a place of the log. */
export interface TailRead {
  readonly events: readonly RecordedEvent[];
  /** Of the events, in the log. */
  readonly ordinals: readonly bigint[];
  /** Of the event at the place; undefined: there is none, or it was not read. */
  readonly afterId: string | undefined;
  /** More may follow. */
  readonly isFull: boolean;
}

interface Reach {
  /** Of the page, in events. */
  readonly limit: number;
  /** Of the log, when the tail began. */
  readonly epoch: number;
  /** The newest position that this process heard of. */
  readonly heard: () => bigint;
}

/**
 * The last events that a tail has read, for the other tails of the process: they follow the same
 * end of the log, a little later. Holds 1 000 events and a MiB at most.
 */
export class TailWindow {
  private after = 0n;
  private afterId: string | undefined;
  private events: RecordedEvent[] = [];
  private ordinals: bigint[] = [];
  private characters = 0;
  private epoch = -1;
  private readAt = -Infinity;

  /**
   * Keeps what was read up to the end of the log.
   * @param read its place, and the epoch of the log when the read began.
   */
  add({
    after,
    afterId,
    events,
    ordinals,
    epoch,
  }: Omit<TailRead, 'isFull'> & { readonly after: bigint; readonly epoch: number }): void {
    const end = this.ordinals.at(-1);
    const last = ordinals.at(-1);
    if (last === undefined) return;
    if (epoch === this.epoch && end !== undefined && last <= end) return;
    if (epoch !== this.epoch || after !== end) {
      this.after = after;
      this.afterId = afterId;
      this.events = [];
      this.ordinals = [];
      this.characters = 0;
      this.epoch = epoch;
    }
    this.events.push(...events);
    this.ordinals.push(...ordinals);
    for (const event of events) this.characters += charactersOf(event);
    this.readAt = elapsed();
    this.trim();
  }

  /**
   * What follows a place of the log; undefined: it is not known here, and the log is read.
   * @param knownId of the event at the place; undefined: the reader does not know it.
   */
  behind(
    place: bigint,
    knownId: string | undefined,
    { limit, epoch, heard }: Reach,
  ): TailRead | undefined {
    if (epoch !== this.epoch || elapsed() - this.readAt > AGE_MS_MAX) return undefined;
    const at = place === this.after ? -1 : this.ordinals.lastIndexOf(place);
    if (at === -1 && place !== this.after) return undefined;
    const afterId = at === -1 ? this.afterId : this.events[at]?.id;
    if (knownId !== undefined && knownId !== afterId) return undefined;
    const events = this.events.slice(at + 1, at + 1 + limit);
    if (events.length === 0) return undefined;
    const ordinals = this.ordinals.slice(at + 1, at + 1 + limit);
    return { events, ordinals, afterId, isFull: heard() > (ordinals.at(-1) ?? place) };
  }

  private trim(): void {
    let dropped = 0;
    while (
      this.events.length - dropped > EVENTS_MAX ||
      (this.characters > CHARACTERS_MAX && dropped < this.events.length)
    ) {
      const event = this.events[dropped];
      if (event !== undefined) this.characters -= charactersOf(event);
      dropped += 1;
    }
    if (dropped === 0) return;
    this.after = this.ordinals[dropped - 1] ?? this.after;
    this.afterId = this.events[dropped - 1]?.id;
    this.events = this.events.slice(dropped);
    this.ordinals = this.ordinals.slice(dropped);
  }
}

const charactersOf = ({ data, metadata }: RecordedEvent): number => data.length + metadata.length;
