import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** Time, timers and randomness, which the simulator replaces (docs/adr/0033). */
export interface World {
  /** Epoch milliseconds. May jump, also backwards. */
  now(): number;
  /** Monotonic milliseconds. */
  elapsed(): number;
  /** Calls once. Returns its cancellation. @param keepsProcess whether the process waits. */
  after(ms: number, call: () => void, keepsProcess: boolean): () => void;
  uuid(): string;
  bytes(length: number): Buffer;
  /** A random integer from 0 to `end` - 1. */
  below(end: number): number;
}

const REAL: World = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, call, keepsProcess) => {
    const timer = setTimeout(call, ms);
    if (!keepsProcess) timer.unref();
    return () => clearTimeout(timer);
  },
  uuid: () => randomUUID(),
  bytes: (length) => randomBytes(length),
  below: (end) => randomInt(end),
};

let world = REAL;

/** Replaces the world of this process. Returns a function that restores it. */
export function enterWorld(other: World): () => void {
  world = other;
  return () => (world = REAL);
}

/** Epoch milliseconds. */
export const timeNow = (): number => world.now();

/** Monotonic milliseconds, for durations. */
export const elapsed = (): number => world.elapsed();

/** Calls once after this many milliseconds. Returns its cancellation. */
export const after = (ms: number, call: () => void, { keepsProcess = true } = {}): (() => void) =>
  world.after(ms, call, keepsProcess);

/** A random UUID. */
export const newId = (): string => world.uuid();

export const newBytes = (length: number): Buffer => world.bytes(length);

/** A random integer from 0 to `end` - 1. */
export const randomBelow = (end: number): number => world.below(end);
