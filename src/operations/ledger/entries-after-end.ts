import type { RecordedEvent } from '../../event-log/event-log.js';

/** An entry, as far as its place and its time matter. */
type Timed = Pick<RecordedEvent, 'recordedAt'>;

/**
 * Counts the entries that one expects within figures and that count after their end: they are ahead
 * of the clock, or an entry within the figures follows them in the log. Entries that were simply
 * recorded later are not among them.
 */
export class LaterEntries {
  private certain = 0;
  private pending = 0;

  /** @param end of the figures. Both in epoch milliseconds. */
  constructor(
    private readonly end: number,
    private readonly now: number,
  ) {}

  get count(): number {
    return this.certain;
  }

  /** The next entry of the log. @param counts whether it belongs to the figures. */
  add({ recordedAt }: Timed, counts: boolean): void {
    if (recordedAt <= this.end) {
      this.certain += this.pending;
      this.pending = 0;
    } else if (counts && recordedAt > this.now) this.certain += 1;
    else if (counts) this.pending += 1;
  }
}
