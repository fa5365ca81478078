/**
 * Calls that come in one turn of the event loop, or while one is under way, share the next one.
 * @param work its results in the order of what it got; what it throws, all its callers get.
 */
export function batched<T, R>(
  work: (all: readonly T[]) => Promise<readonly R[]>,
): (one: T) => Promise<R> {
  interface Call {
    readonly one: T;
    readonly resolve: (result: R) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Call[] = [];
  let isUnderWay = false;
  const run = async (): Promise<void> => {
    await Promise.resolve();
    for (; waiting.length > 0;) {
      const calls = waiting;
      waiting = [];
      try {
        const results = await work(calls.map(({ one }) => one));
        for (const [n, { resolve }] of calls.entries()) resolve(results[n] as R);
      } catch (error) {
        for (const { reject } of calls) reject(error);
      }
    }
    isUnderWay = false;
  };
  return (one) =>
    new Promise((resolve, reject) => {
      waiting.push({ one, resolve, reject });
      if (isUnderWay) return;
      isUnderWay = true;
      void run();
    });
}
