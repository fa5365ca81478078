const ENDED = (): undefined => undefined;

/** Turns per key, in order of arrival; different keys run side by side. */
export class Turns {
  /** By key: settles when the last one that asked has ended. */
  private readonly last = new Map<string, Promise<void>>();

  /** Runs the work once those before it of the same keys have ended, well or not. */
  take<T>(keys: string | readonly string[], work: () => Promise<T>): Promise<T> {
    const all = [keys].flat();
    const turn = Promise.all(all.flatMap((key) => this.last.get(key) ?? [])).then(work);
    const ended = turn.then(ENDED, ENDED).then(() => {
      for (const key of all) if (this.last.get(key) === ended) this.last.delete(key);
    });
    for (const key of all) this.last.set(key, ended);
    return turn;
  }

  /** Keys that somebody has or waits for. */
  get taken(): number {
    return this.last.size;
  }
}
