/**
 * Combines calls of one turn of the event loop, or those during a running call, into the next call.
 * An error rejects all of them.
 * @param work returns its results in the order of its arguments.
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
