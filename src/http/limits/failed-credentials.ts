import type { ApiError } from '../edge/api-error.js';
import { rateHeaders, rateLimited } from './call-limit.js';
import { WindowCounts } from './window-counts.js';

/**
 * Counts the failed credentials of each address in this process, over all tenants and operators. It
 * is counted after the check, so that good credentials pass from the same address.
 */
export class FailedCredentials {
  private readonly counts: WindowCounts;

  /** @param clock in milliseconds, never going back. */
  constructor(
    private readonly perMinute: number,
    clock?: () => number,
  ) {
    this.counts = new WindowCounts(clock);
  }

  /**
   * Counts a failure of this address (see `countedAddress`).
   * @returns the answer in place of 401 beyond the limit.
   */
  count(address: string): ApiError | undefined {
    const window = { limit: this.perMinute, windowSeconds: 60 };
    const { calls, leftSeconds } = this.counts.add(address, window.windowSeconds);
    if (calls <= this.perMinute) return undefined;
    const left = { ...window, left: 0, resetSeconds: leftSeconds };
    const rule = `at most ${this.perMinute} wrong credentials of an address in a minute`;
    return rateLimited(rule, leftSeconds, rateHeaders('failed-credentials', left));
  }
}
