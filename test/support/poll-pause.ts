import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

/**
 * The pause before the next look at a condition: a turn of the event loop at first, later up to 20
 * ms, since a look often costs a request or a query that other tests wait for.
 * @param looks so far.
 */
export const pollPause = (looks: number): Promise<unknown> =>
  looks < 10 ? turn() : delay(Math.min(2 ** (looks - 10), 20));
