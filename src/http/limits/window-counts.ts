import { LRUCache } from 'lru-cache';
import { elapsed } from '../../foundation/world.js';

/** Some 200 bytes each, 4 MiB in all; beyond that the one counted longest ago is dropped. */
const NAMES_MAX = 20_000;

export interface Counted {
  /** In the window, this one included. */
  readonly calls: number;
  /** Until the window ends; at least 1. */
  readonly leftSeconds: number;
}

/** Counts by name in this process. A window begins with the first count of a name. */
export class WindowCounts {
  private readonly windows = new LRUCache<string, { readonly endsMs: number; calls: number }>({
    max: NAMES_MAX,
  });

  /** @param clock in milliseconds, never going back. */
  constructor(private readonly clock: () => number = elapsed) {}

  add(name: string, windowSeconds: number): Counted {
    const now = this.clock();
    const known = this.windows.get(name);
    const isOver = known === undefined || now >= known.endsMs;
    const window = isOver ? { endsMs: now + windowSeconds * 1000, calls: 0 } : known;
    if (isOver) this.windows.set(name, window);
    window.calls += 1;
    return { calls: window.calls, leftSeconds: Math.ceil((window.endsMs - now) / 1000) };
  }
}
