import type { SeenEvent } from './event-log.js';

/** A place in the log as its adapter counts it, with its event. */
export interface Seen extends SeenEvent {
  readonly ordinal: bigint;
}

/** Seen events per comparison, evenly spread; each costs an index look-up. */
const RECENT_MAX = 128;

/**
 * The end of the log as this process has seen it. A log is only appended to: while the newest seen
 * event is at its position, everything before it is unchanged. Otherwise the log lost its end and
 * may have grown again since.
 */
export class NewestSeen {
  private kept: Seen[] = [];
  private found = 0;
  private readonly listeners = new Set<(from: SeenEvent) => void>();

  get newest(): Seen | undefined {
    return this.kept.at(-1);
  }

  /**
   * The newest event of the last comparison, then events seen since, oldest first. Several, because
   * a log can lose its end and grow beyond it between two comparisons.
   */
  get recent(): readonly Seen[] {
    return this.kept;
  }

  /** How often the log was found to have gone back. */
  get epoch(): number {
    return this.found;
  }

  /** @param epoch when the request was sent; an answer from an earlier epoch is ignored. */
  note(ordinal: bigint, { position, eventId }: SeenEvent, epoch: number): void {
    const { newest } = this;
    if (epoch !== this.found || (newest !== undefined && ordinal <= newest.ordinal)) return;
    if (this.kept.length >= RECENT_MAX)
      this.kept = this.kept.filter((_, index) => index % 2 === 0 || index === RECENT_MAX - 1);
    this.kept.push({ ordinal, position, eventId });
  }

  /** The log has everything up to this event. */
  confirm(last: Seen, epoch: number): void {
    const place = this.kept.indexOf(last);
    if (epoch === this.found && place > 0) this.kept = this.kept.slice(place);
  }

  /** The log does not have this event: calls all listeners and forgets all seen events. */
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
