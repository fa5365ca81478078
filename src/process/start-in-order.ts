/** What a start function has started, and how that is undone. */
export interface Started<T> {
  readonly part: T;
  readonly undo: () => unknown;
}

/** Keeps the undo of what was started, and hands on the part. */
export type Start = <T>(starting: Started<T> | Promise<Started<T>>) => Promise<T>;

/** What was started, and its end. */
export type Stoppable<T> = T & { stop(): Promise<void> };

/**
 * Starts parts one after the other. `stop` undoes all of them in reverse order, also when one
 * cannot be undone: the stores are opened first and closed last, and an embedded Postgres would be
 * left running. A start that fails undoes what was started before it.
 * @throws what a start throws; of several failures of `stop` the first one.
 */
export async function startInOrder<T extends object>(
  starts: (start: Start) => Promise<T>,
): Promise<Stoppable<T>> {
  const undos: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const undo of undos.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  try {
    const started = await starts(async (starting) => {
      const { part, undo } = await starting;
      undos.push(undo);
      return part;
    });
    return Object.assign(started, { stop });
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}
