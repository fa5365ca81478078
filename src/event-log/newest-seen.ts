import type { SeenEvent } from './event-log.js';

/** A place in the log as its adapter counts it, beside the event that stood there. */
export interface Seen extends SeenEvent {
  readonly ordinal: bigint;
}

/**
 * Of what is seen between two looks so many are compared at most, evenly spread; each costs a
 * look-up in an index.
 */
const RECENT_MAX = 128;

/**
 * What this process knows of the end of its log. A log is only ever appended to, so while the
 * newest event that was seen stands at its position, everything before it is as it was read. When
 * it does not, the log lost its end and may have been filled again since.
 */
export class NewestSeen {
  private kept: Seen[] = [];
  private found = 0;
  private readonly listeners = new Set<(from: SeenEvent) => void>();

  get newest(): Seen | undefined {
    return this.kept.at(-1);
  }

  /**
   * What was seen since the last look, oldest first, and the newest event of that look. One of them
   * alone would not do: between two looks a log can lose its end, be filled beyond it again, and be
   * read.
   */
  get recent(): readonly Seen[] {
    return this.kept;
  }

  /** How often the log was found to have gone back. */
  get epoch(): number {
    return this.found;
  }

  /**
   * @param epoch as it was before the event was asked for: an answer from before a loss says
   * nothing of the log that is there now.
   */
  note(ordinal: bigint, { position, eventId }: SeenEvent, epoch: number): void {
    const { newest } = this;
    if (epoch !== this.found || (newest !== undefined && ordinal <= newest.ordinal)) return;
    if (this.kept.length >= RECENT_MAX)
      this.kept = this.kept.filter((_, index) => index % 2 === 0 || index === RECENT_MAX - 1);
    this.kept.push({ ordinal, position, eventId });
  }

  /** The log held everything up to this one. */
  confirm(last: Seen, epoch: number): void {
    const place = this.kept.indexOf(last);
    if (epoch === this.found && place > 0) this.kept = this.kept.slice(place);
  }

  /**
   * The log does not hold this event. Says so to all listeners at once; nothing of the log counts
   * as seen any more.
   */
  wentBack(missing: SeenEvent, epoch: number): void {
    if (epoch !== this.found) return;
    const { position, eventId } = this.newest ?? missing;
    this.found += 1;
    this.kept = [];
    for (const listener of [...this.listeners]) listener({ position, eventId });
  }

  onWentBack(listener: (from: SeenEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
