import { setMaxListeners } from 'node:events';
import { after, anyBelow } from './world.js';

/** Waits; shorter when the signal aborts; never throws. */
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
    // Many pauses share the signal of a turn. Each removes its listener when it is over.
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

/**
 * Exponential back-off up to a limit with random jitter over the upper half, so that processes that
 * failed together do not retry together.
 */
export function backOffMs(failures: number, { first, max }: BackOff): number {
  const full = Math.min(max, first * 2 ** Math.min(failures, 20));
  return full / 2 + ((anyBelow(JITTER_STEPS) / JITTER_STEPS) * full) / 2;
}

const SPREAD = 0.2;

/** A fifth more or less, at random, in whole milliseconds. */
export const spreadMs = (ms: number): number =>
  Math.round(ms * (1 + SPREAD * ((2 * anyBelow(JITTER_STEPS + 1)) / JITTER_STEPS - 1)));
