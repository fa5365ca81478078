export interface ProbeOptions {
  readonly everyMs: number;
  /** Without an answer within this time the other end is gone. */
  readonly withinMs: number;
}

/**
 * Regularly queries a connection that only listens or holds a lock, since a connection that the
 * network dropped reports nothing by itself. A failed query counts as an answer: a broken
 * connection reports itself. `onSilent` is called at most once.
 * @returns a function that stops it.
 */
export function startProbe(
  ask: () => Promise<unknown>,
  { everyMs, withinMs }: ProbeOptions,
  onSilent: () => void,
): () => void {
  let ended = false;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    if (!ended) timer = setTimeout(question, everyMs).unref();
  };
  const question = (): void => {
    const limit = setTimeout(() => {
      ended = true;
      onSilent();
    }, withinMs).unref();
    timer = limit;
    const answered = (): void => {
      clearTimeout(limit);
      wait();
    };
    ask().then(answered, answered);
  };
  wait();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
