import { setTimeout as delay } from 'node:timers/promises';

/** Before one of two things that are to meet at any moment: nothing is waited for by it. */
export const pauseOfChance = (maxMs: number): Promise<void> => delay(Math.random() * maxMs);
