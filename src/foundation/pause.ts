import { setTimeout as delay } from 'node:timers/promises';

/** Waits, or less when the signal aborts; never throws. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/** In milliseconds. */
export interface BackOff {
  readonly first: number;
  readonly max: number;
}

/**
 * Doubling up to a limit, spread over the upper half, so that processes which failed together do
 * not come back together.
 */
export function backOffMs(failures: number, { first, max }: BackOff): number {
  const full = Math.min(max, first * 2 ** Math.min(failures, 20));
  return full / 2 + (Math.random() * full) / 2;
}
