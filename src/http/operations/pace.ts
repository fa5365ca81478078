import { pause } from '../../foundation/pause.js';
import { elapsed } from '../../foundation/world.js';

/** Work of less than this needs no rest. */
const PIECE_MS = 10;
const REST_MS_MAX = 500;

/** How long work in pieces rests between them: where others are busy, as long as it worked. */
export class Pace {
  private since = elapsed();

  constructor(private readonly othersAreBusy: () => boolean) {}

  /** Ends a piece of work. @returns when the next one may begin; at once on abort. */
  async giveWay(signal: AbortSignal): Promise<void> {
    const workedMs = elapsed() - this.since;
    if (workedMs < PIECE_MS) return;
    // What arrived meanwhile is seen after a turn of the event loop.
    await pause(0, signal);
    if (this.othersAreBusy()) await pause(Math.min(workedMs, REST_MS_MAX), signal);
    this.since = elapsed();
  }
}
