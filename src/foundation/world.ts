import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/**
 * Where time, waiting and chance come from. What decides asks this module and nothing else, so that
 * the simulator can run it in a world of its own (docs/adr/0033).
 */
export interface World {
  /** Epoch milliseconds. May jump, also backwards. */
  now(): number;
  /** Milliseconds of a clock that never goes back. */
  elapsed(): number;
  /**
   * Calls once, this many milliseconds from now. Returns how to cancel it.
   * @param keepsProcess whether the process must not end before.
   */
  after(ms: number, call: () => void, keepsProcess: boolean): () => void;
  /** A random UUID. */
  uuid(): string;
  /** Random bytes. */
  bytes(length: number): Buffer;
  /** A random integer from 0 up to, and not including, `end`. */
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

/** Puts this whole process into another world. Returns the way back. */
export function enterWorld(other: World): () => void {
  world = other;
  return () => (world = REAL);
}

/** Epoch milliseconds of the world's clock. */
export const timeNow = (): number => world.now();

/** Milliseconds of the world's clock that never goes back: for durations. */
export const elapsed = (): number => world.elapsed();

/** Calls once, this many milliseconds from now. Returns how to cancel it. */
export const after = (ms: number, call: () => void, { keepsProcess = true } = {}): (() => void) =>
  world.after(ms, call, keepsProcess);

/** A new random UUID. */
export const newId = (): string => world.uuid();

/** Random bytes. */
export const newBytes = (length: number): Buffer => world.bytes(length);

/** A random integer from 0 up to, and not including, `end`. */
export const anyBelow = (end: number): number => world.below(end);
