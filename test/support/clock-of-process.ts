import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { enterWorld, type World } from '../../src/foundation/world.js';

export const DAY_MS = 86_400_000;

/** The world of this process, some of it replaced. Returns the way back. */
export const enterWorldWith = (replaced: Partial<World>): (() => void) =>
  enterWorld({
    now: () => Date.now(),
    elapsed: () => performance.now(),
    after: (waitMs, call, keepsProcess) => {
      const timer = setTimeout(call, waitMs);
      if (!keepsProcess) timer.unref();
      return () => clearTimeout(timer);
    },
    uuid: () => randomUUID(),
    bytes: (length) => randomBytes(length),
    below: (end) => randomInt(end),
    ...replaced,
  });

/** Moves the wall clock of this process by so many milliseconds. Returns the way back. */
export const clockMovedBy = (ms: number): (() => void) =>
  enterWorldWith({ now: () => Date.now() + ms });
