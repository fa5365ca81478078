import { pause } from './pause.js';
import { elapsed } from './world.js';

/** Pause per time worked. */
const TIMES = 6;
const REST_MS_MAX = 1_000;

/** Pauses background work between batches while requests run. */
export class BackgroundPacer {
  private since = elapsed();

  constructor(
    private readonly isBusy: () => boolean = () => false,
    private readonly signal: AbortSignal,
  ) {}

  /** To be called after each batch. Ends early with the signal. */
  async pause(): Promise<void> {
    const workedMs = elapsed() - this.since;
    if (this.isBusy()) await pause(Math.min(workedMs * TIMES, REST_MS_MAX), this.signal);
    this.since = elapsed();
  }
}
