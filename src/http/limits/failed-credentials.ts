import type { ApiError } from '../edge/api-error.js';
import { rateHeaders, rateLimited } from './call-limit.js';
import { WindowCounts } from './window-counts.js';

const WINDOW = { windowSeconds: 60, left: 0 };

/**
 * Counts the failed credentials of each address in this process, over all tenants and operators. It
 * is counted after the check, so that good credentials pass from the same address.
 */
export class FailedCredentials {
  constructor(
    private readonly perMinute: number,
    private readonly counts = new WindowCounts(),
  ) {}

  /**
   * Counts a failure of this address (see `countedAddress`).
   * @returns the answer in place of 401 beyond the limit.
   */
  count(address: string): ApiError | undefined {
    const { calls, leftSeconds: resetSeconds } = this.counts.add(address, WINDOW.windowSeconds);
    const window = { ...WINDOW, limit: this.perMinute, resetSeconds };
    if (calls <= this.perMinute) return undefined;
    const rule = `at most ${this.perMinute} wrong credentials of an address in a minute`;
    return rateLimited(rule, resetSeconds, rateHeaders('failed-credentials', window));
  }
}
