const ENDED = (): undefined => undefined;

/** Turns per key, in order of arrival; different keys run side by side. */
export class Turns {
  /** By key: settles when the last one that asked has ended. */
  private readonly last = new Map<string, Promise<void>>();

  /** Runs the work once those before it of the same key have ended, well or not. */
  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.last.get(key) ?? Promise.resolve()).then(work);
    const ended = turn.then(ENDED, ENDED).then(() => {
      if (this.last.get(key) === ended) this.last.delete(key);
    });
    this.last.set(key, ended);
    return turn;
  }

  /** Keys that somebody has or waits for. */
  get taken(): number {
    return this.last.size;
  }
}
