export interface ProbeOptions {
  readonly everyMs: number;
  /** A question without an answer for so long means that nobody is there. */
  readonly withinMs: number;
}

/**
 * Asks a connection that only listens or holds a lock, now and then, whether it still answers: one
 * that the network has forgotten says nothing by itself. A question that fails counts as an answer,
 * for a connection that breaks says so. `onSilent` is called once at most.
 * @returns what ends it.
 */
export function probed(
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
