import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

/** The pause before a condition is checked again, up to 20 ms. @param looks checks so far. */
export const pollPause = (looks: number): Promise<unknown> =>
  looks < 10 ? turn() : delay(Math.min(2 ** (looks - 10), 20));
