import { setMaxListeners } from 'node:events';
import { after, randomBelow } from './world.js';

/** Ends early when the signal aborts. Never rejects. */
export function pause(
  ms: number,
  signal?: AbortSignal,
  { keepsProcess = true } = {},
): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = after(ms, end, { keepsProcess });
    if (signal === undefined) return;
    // Many pauses share the signal of a turn, and each removes its listener.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', end);
  });
}

/** In milliseconds. */
export interface BackOff {
  readonly first: number;
  readonly max: number;
}

const JITTER_STEPS = 2 ** 20;

/** Exponential back-off; jitter spreads processes that failed together. */
export function backOffMs(failures: number, { first, max }: BackOff): number {
  const full = Math.min(max, first * 2 ** Math.min(failures, 20));
  return full / 2 + ((randomBelow(JITTER_STEPS) / JITTER_STEPS) * full) / 2;
}

const SPREAD = 0.2;

/** Randomly up to a fifth more or less, in whole milliseconds. */
export const jitteredMs = (ms: number): number =>
  Math.round(ms * (1 + SPREAD * ((2 * randomBelow(JITTER_STEPS + 1)) / JITTER_STEPS - 1)));
