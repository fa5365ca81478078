import { LRUCache } from 'lru-cache';
import { elapsed } from '../../foundation/world.js';

const WINDOW_MS = 60_000;
/** Some 200 bytes each, 4 MiB in all; beyond that the one counted longest ago is dropped. */
const ADDRESSES_MAX = 20_000;

interface Window {
  readonly beganMs: number;
  count: number;
}

/** How often something happened to an address, in this process. */
export interface MinuteCount {
  /** This time included. */
  readonly count: number;
  /** Until it begins anew, in milliseconds. */
  readonly leftMs: number;
}

/** Counts by address. A minute begins with an address's first time. */
export class MinuteCounts {
  static readonly windowSeconds = WINDOW_MS / 1000;
  private readonly windows = new LRUCache<string, Window>({ max: ADDRESSES_MAX });

  /** @param clock in milliseconds, never going back. */
  constructor(private readonly clock: () => number = elapsed) {}

  /** Counts one more of this address (see `countedAddress`). */
  add(address: string): MinuteCount {
    const now = this.clock();
    const window = this.windowAt(address, now);
    window.count += 1;
    return { count: window.count, leftMs: window.beganMs + WINDOW_MS - now };
  }

  private windowAt(address: string, now: number): Window {
    const known = this.windows.get(address);
    if (known !== undefined && now - known.beganMs < WINDOW_MS) return known;
    const begun = { beganMs: now, count: 0 };
    this.windows.set(address, begun);
    return begun;
  }
}
