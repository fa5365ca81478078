import { waitAtMost } from '../../foundation/timeout.js';
import { isAhead, LogAheadOfClock } from '../clock.js';
import type { NewestSeen } from '../newest-seen.js';

/** The server sets the times: each read records them, and the first append waits for one. */
export class ClockCheck {
  private newest: { readonly ordinal: bigint; readonly recordedAt: number } | undefined;
  private isRead = false;

  constructor(
    seen: NewestSeen,
    private readonly readNewest: () => Promise<unknown>,
    private readonly timeoutMs: number,
  ) {
    seen.onWentBack(() => {
      this.newest = undefined;
      this.isRead = false;
    });
  }

  /** The time of an own append is an estimate until the event is read. */
  note(ordinal: bigint, recordedAt: number): void {
    if (this.newest === undefined || ordinal >= this.newest.ordinal)
      this.newest = { ordinal, recordedAt };
  }

  /** @throws {LogAheadOfClock} */
  async check(): Promise<void> {
    // A store without an answer refuses the append as well, or records it when it is back.
    if (!this.isRead)
      await waitAtMost(
        this.timeoutMs,
        this.read().catch(() => undefined),
      );
    if (isAhead(this.newest ?? {})) throw new LogAheadOfClock();
  }

  private async read(): Promise<void> {
    await this.readNewest();
    this.isRead = true;
  }
}
