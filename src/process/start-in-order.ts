import { waitAtMost } from '../foundation/timeout.js';
import { elapsed } from '../foundation/world.js';

interface Undo {
  readonly undo: () => unknown;
  /** It has a time limit of its own, which may be long. */
  readonly limitsItself: boolean;
}

/**
 * Limit for all undos without a limit of their own together, then for each further one: an
 * unavailable store must not delay the end. Acknowledged writes are in the log.
 */
const TOGETHER_MS = 8_000;
const REST_MS = 100;

/** Registers an undo of a start. */
export type OnStop = (undo: () => unknown, how?: Partial<Pick<Undo, 'limitsItself'>>) => void;

export type Stoppable<T> = T & { stop(): Promise<void> };

/**
 * Starts parts in order. `stop` undoes them in reverse order, even if an undo fails or hangs, so
 * that no embedded Postgres is left running. A failing start undoes the earlier ones.
 * @throws the error of the start, or the first failure of `stop`.
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
        await (limitsItself ? undone : waitAtMost(Math.max(leftMs, REST_MS), undone));
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
