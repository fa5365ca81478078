import { LRUCache } from 'lru-cache';
import { elapsed } from '../../foundation/world.js';

/** About 200 bytes each, 4 MiB in all; beyond it the least recent one is dropped. */
const NAMES_MAX = 20_000;

export interface Counted {
  /** Calls in the window, including this one. */
  readonly calls: number;
  /** Until the end of the window; at least 1. */
  readonly leftSeconds: number;
}

/** Counts by name in this process. A name's window begins with its first count. */
export class WindowCounts {
  private readonly windows = new LRUCache<string, { readonly endsMs: number; calls: number }>({
    max: NAMES_MAX,
  });

  /** @param clock monotonic, milliseconds. */
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
