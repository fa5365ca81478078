/** A started part and its undo. */
export interface Started<T> {
  readonly part: T;
  readonly undo: () => unknown;
}

/** Registers the undo of a started part, and returns the part. */
export type Start = <T>(starting: Started<T> | Promise<Started<T>>) => Promise<T>;

/** The result of the starts, and its stop. */
export type Stoppable<T> = T & { stop(): Promise<void> };

/**
 * Starts parts one after the other. `stop` undoes all of them in reverse order, even if one undo
 * fails: the stores are opened first and closed last, and an embedded Postgres must not be left
 * running. A failing start undoes the parts before it.
 * @throws the error of a start; of several failures of `stop` the first one.
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
