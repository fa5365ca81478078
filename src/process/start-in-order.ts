import { atMost } from '../foundation/in-time.js';
import { elapsed } from '../foundation/world.js';

interface Undo {
  readonly undo: () => unknown;
  /** It ends by itself in limited time, which may be long. */
  readonly limitsItself: boolean;
}

/**
 * For the undos without a limit of their own, all together, then for each of the rest: a store that
 * does not answer must not hold up the end of the process. Acknowledged writes are in the log.
 */
const TOGETHER_MS = 8_000;
const REST_MS = 100;

/** Registers what undoes a start. */
export type OnStop = (undo: () => unknown, how?: Partial<Pick<Undo, 'limitsItself'>>) => void;

/** The result of the starts, and its stop. */
export type Stoppable<T> = T & { stop(): Promise<void> };

/**
 * Starts parts one after the other. `stop` undoes all of them in reverse order, even if one undo
 * fails or hangs: the stores are opened first and closed last, and an embedded Postgres must not be
 * left running. A failing start undoes the parts before it.
 * @throws the error of a start; of several failures of `stop` the first one.
 */
export async function startInOrder<T extends object>(
  starts: (onStop: OnStop) => Promise<T>,
): Promise<Stoppable<T>> {
  const undos: Undo[] = [];
  const stop = async (): Promise<void> => {
    const failures: unknown[] = [];
    let leftMs = TOGETHER_MS;
    for (const { undo, limitsItself } of undos.splice(0).reverse()) {
      const began = elapsed();
      try {
        const undone = Promise.resolve().then(undo);
        await (limitsItself ? undone : atMost(Math.max(leftMs, REST_MS), undone));
        if (!limitsItself) leftMs -= elapsed() - began;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  try {
    const onStop: OnStop = (undo, { limitsItself = false } = {}) =>
      void undos.push({ undo, limitsItself });
    return Object.assign(await starts(onStop), { stop });
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}
