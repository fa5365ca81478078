import type { ApiError } from '../edge/api-error.js';
import { rateHeaders, rateLimited } from './call-limit.js';
import { MinuteCounts } from './minute-counts.js';

/**
 * Counts the failed credentials of each address in this process, over all tenants and operators. It
 * is counted after the check, so that good credentials pass from the same address.
 */
export class FailedCredentials {
  private readonly counts: MinuteCounts;

  /** @param clock in milliseconds, never going back. */
  constructor(
    private readonly perMinute: number,
    clock?: () => number,
  ) {
    this.counts = new MinuteCounts(clock);
  }

  /**
   * Counts a failure of this address (see `countedAddress`).
   * @returns the answer in place of 401 beyond the limit.
   */
  count(address: string): ApiError | undefined {
    const { count, leftMs } = this.counts.add(address);
    if (count <= this.perMinute) return undefined;
    const resetSeconds = Math.max(1, Math.ceil(leftMs / 1000));
    const { windowSeconds } = MinuteCounts;
    const left = { limit: this.perMinute, windowSeconds, left: 0, resetSeconds };
    const rule = `at most ${this.perMinute} wrong credentials of an address in a minute`;
    return rateLimited(rule, resetSeconds, rateHeaders('failed-credentials', left));
  }
}
