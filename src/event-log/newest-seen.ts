import type { SeenEvent } from './event-log.js';

/** A place in the log as its adapter counts it, with the event that was there. */
export interface Seen extends SeenEvent {
  readonly ordinal: bigint;
}

/** Limit of seen events that are compared at once, evenly spread; each costs an index look-up. */
const RECENT_MAX = 128;

/**
 * What this process knows of the end of its log. A log is only appended to: while the newest seen
 * event is at its position, everything before it is unchanged. When it is not, the log lost its end
 * and may have grown again since.
 */
export class NewestSeen {
  private kept: Seen[] = [];
  private found = 0;
  private readonly listeners = new Set<(from: SeenEvent) => void>();

  get newest(): Seen | undefined {
    return this.kept.at(-1);
  }

  /**
   * The events seen since the last comparison, oldest first, and the newest event of that
   * comparison. One of them alone is not enough: between two comparisons a log can lose its end,
   * grow beyond it again, and be read.
   */
  get recent(): readonly Seen[] {
    return this.kept;
  }

  /** How often the log was found to have gone back. */
  get epoch(): number {
    return this.found;
  }

  /**
   * @param epoch at the time of the request: an answer from before a loss does not describe the
   * current log.
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
   * The log does not have this event. Calls all listeners at once; no event of the log counts as
   * seen any more.
   */
  wentBack(missing: SeenEvent, epoch: number): void {
    if (epoch !== this.found) return;
    const { position, eventId } = this.newest ?? missing;
    this.found += 1;
    this.kept = [];
    for (const listener of [...this.listeners]) listener({ position, eventId });
  }

  /** An event of this epoch no longer exists. */
  lost(epoch: number): void {
    const { newest } = this;
    if (newest !== undefined) this.wentBack(newest, epoch);
  }

  onWentBack(listener: (from: SeenEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
