import type { EventLog, Position } from '../event-log/event-log.js';
import type { RebuildProgress as Progress } from '../projecting/generations/rebuild.js';

const EVERY_MS = 1_000;
/** Rates are measured over this time, so that they follow a store that becomes slower. */
const RATE_OVER_MS = 10_000;

/**
 * Shows the progress of a rebuild or repair every second: on a terminal in one changing line,
 * elsewhere as plain lines.
 */
export class RebuildProgress {
  private readonly seen: {
    readonly at: number;
    readonly events: number;
    readonly fraction: number;
  }[] = [];
  private phase = '';
  private saidAt = -Infinity;
  private isLineOpen = false;

  constructor(
    private readonly log: Pick<EventLog, 'fraction'>,
    private readonly out: { readonly isTTY?: boolean; write(text: string): unknown },
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** For a rebuild. */
  readonly at = (progress: Progress): void => {
    switch (progress.phase) {
      case 'folding':
        return this.folded(progress.events, progress.last, progress.until);
      case 'following':
        return this.say(
          `${progress.projection}: followed ${progress.events} events`,
          `following ${progress.projection}`,
        );
      case 'writing':
        return this.say(
          `${progress.projection}: writing ${progress.rows} rows`,
          `writing ${progress.projection}`,
        );
      case 'indexing':
        return this.say(
          `${progress.projection}: making indexes`,
          `indexing ${progress.projection}`,
        );
      case 'verifying':
        return this.say(
          `${progress.projection}: comparing with the live one`,
          `verifying ${progress.projection}`,
        );
    }
  };

  /** @param events read so far. @param until the end of reading. */
  folded(events: number, last: Position, until: Position | undefined): void {
    const at = this.now();
    // Another pass over the log.
    if (events < (this.seen.at(-1)?.events ?? 0)) this.seen.length = 0;
    this.seen.push({ at, events, fraction: this.log.fraction(last, until) });
    while ((this.seen[1]?.at ?? at) < at - RATE_OVER_MS) this.seen.shift();
    if (this.isDue('reading', at)) this.say(this.readingLine(events), 'reading');
  }

  /** Ends the changing line. */
  end(): void {
    if (this.isLineOpen) this.out.write('\n');
    this.isLineOpen = false;
  }

  /** `read 120000 events (24 %), 60000 a second, 6 s left` */
  private readingLine(events: number): string {
    const [oldest] = this.seen;
    const newest = this.seen.at(-1);
    const percent = ` (${Math.floor((newest?.fraction ?? 0) * 100)} %)`;
    if (!oldest || !newest || newest.at === oldest.at) return `read ${events} events${percent}`;
    const seconds = (newest.at - oldest.at) / 1_000;
    const rate = Math.round((newest.events - oldest.events) / seconds);
    const pace = (newest.fraction - oldest.fraction) / seconds;
    const left = pace > 0 ? `, ${Math.ceil((1 - newest.fraction) / pace)} s left` : '';
    return `read ${events} events${percent}, ${rate} a second${left}`;
  }

  private isDue(phase: string, now: number): boolean {
    return phase !== this.phase || now - this.saidAt >= EVERY_MS;
  }

  private say(line: string, phase: string): void {
    const now = this.now();
    if (!this.isDue(phase, now)) return;
    this.phase = phase;
    this.saidAt = now;
    // `\x1b[K` clears the rest of a longer line.
    this.out.write(this.out.isTTY ? `\r${line}\x1b[K` : `${line}\n`);
    this.isLineOpen = this.out.isTTY ?? false;
  }
}
