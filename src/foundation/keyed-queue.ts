const ENDED = (): undefined => undefined;

/** Runs the work of one key in order of arrival, and that of different keys concurrently. */
export class KeyedQueue {
  /** By key: settles when the last work has ended. */
  private readonly last = new Map<string, Promise<void>>();

  /** Runs the work after the earlier work of the same keys has ended or failed. */
  run<T>(keys: string | readonly string[], work: () => Promise<T>): Promise<T> {
    const all = [keys].flat();
    const turn = Promise.all(all.flatMap((key) => this.last.get(key) ?? [])).then(work);
    const ended = turn.then(ENDED, ENDED).then(() => {
      for (const key of all) if (this.last.get(key) === ended) this.last.delete(key);
    });
    for (const key of all) this.last.set(key, ended);
    return turn;
  }

  /** Keys with running or waiting work. */
  get size(): number {
    return this.last.size;
  }
}
