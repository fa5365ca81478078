import { LRUCache } from 'lru-cache';
import { elapsed } from '../../foundation/world.js';
import type { ApiError } from './api-error.js';
import { rateHeaders, rateLimited } from './call-limit.js';

const WINDOW_MS = 60_000;
/** Some 200 bytes each, 4 MiB in all; beyond that the one that failed longest ago is dropped. */
const ADDRESSES_MAX = 20_000;

interface Window {
  readonly beganMs: number;
  failures: number;
}

/**
 * Counts the failed credentials of each address in this process, over all tenants and operators. A
 * window begins with an address's first failure. It is counted after the check, so that good
 * credentials pass from the same address.
 */
export class FailedCredentials {
  private readonly windows = new LRUCache<string, Window>({ max: ADDRESSES_MAX });

  /** @param clock in milliseconds, never going back. */
  constructor(
    private readonly perMinute: number,
    private readonly clock: () => number = elapsed,
  ) {}

  /**
   * Counts a failure of this address (see `countedAddress`).
   * @returns the answer in place of 401 beyond the limit.
   */
  count(address: string): ApiError | undefined {
    const now = this.clock();
    const window = this.windowAt(address, now);
    window.failures += 1;
    if (window.failures <= this.perMinute) return undefined;
    const resetSeconds = Math.max(1, Math.ceil((window.beganMs + WINDOW_MS - now) / 1000));
    const limit = this.perMinute;
    const count = { limit, windowSeconds: WINDOW_MS / 1000, left: 0, resetSeconds };
    return rateLimited(resetSeconds, rateHeaders('failed-credentials', count));
  }

  private windowAt(address: string, now: number): Window {
    const known = this.windows.get(address);
    if (known !== undefined && now - known.beganMs < WINDOW_MS) return known;
    const begun = { beganMs: now, failures: 0 };
    this.windows.set(address, begun);
    return begun;
  }
}
