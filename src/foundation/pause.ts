import { setTimeout as delay } from 'node:timers/promises';

/** Waits; shorter when the signal aborts; never throws. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/** In milliseconds. */
export interface BackOff {
  readonly first: number;
  readonly max: number;
}

/**
 * Exponential back-off up to a limit with random jitter over the upper half, so that processes that
 * failed together do not retry together.
 */
export function backOffMs(failures: number, { first, max }: BackOff): number {
  const full = Math.min(max, first * 2 ** Math.min(failures, 20));
  return full / 2 + (Math.random() * full) / 2;
}
