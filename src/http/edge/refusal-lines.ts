import { after } from '../../foundation/world.js';
import type { HeadRefusal } from './head-refusals.js';
import { logHeadRefusal, type RequestLog } from './request-log.js';

/** Some 300 bytes each. */
const LINES_PER_SECOND = 50;
const SECOND_MS = 1_000;

/**
 * The log lines of requests that are refused by their heads. Beyond 50 in a second they are summed
 * up in one line at its end: a flood must not fill the disk, and a line takes a fifth of what its
 * refusal takes.
 */
export class RefusalLines {
  private written = 0;
  private summed = 0;
  private cancel: (() => void) | undefined;

  constructor(private readonly log: RequestLog) {}

  add(refusal: HeadRefusal): void {
    this.cancel ??= after(SECOND_MS, () => this.endSecond(), { keepsProcess: false });
    if (this.written === LINES_PER_SECOND) return void (this.summed += 1);
    this.written += 1;
    logHeadRefusal(this.log, refusal);
  }

  /** Writes the line that is due at the end of the second. */
  endSecond(): void {
    this.cancel?.();
    this.cancel = undefined;
    if (this.summed > 0)
      this.log.logger.info(
        { status: 503, code: 'UNAVAILABLE', requests: this.summed },
        'requests refused',
      );
    this.written = this.summed = 0;
  }
}
