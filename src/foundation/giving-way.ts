import { pause } from './pause.js';
import { elapsed } from './world.js';

/** Rests are this many times as long as the work before them. */
const TIMES = 6;
const REST_MS_MAX = 1_000;

/**
 * Work that nobody waits for rests between its pieces while requests are at work: the server and
 * this process have no more of it than a part of the time.
 */
export class GivingWay {
  private since = elapsed();

  constructor(
    private readonly isBusy: () => boolean = () => false,
    private readonly signal: AbortSignal,
  ) {}

  /** Call it after each piece. Ends early with the signal. */
  async rest(): Promise<void> {
    const workedMs = elapsed() - this.since;
    if (this.isBusy()) await pause(Math.min(workedMs * TIMES, REST_MS_MAX), this.signal);
    this.since = elapsed();
  }
}
