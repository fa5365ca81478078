/** Who waits for a turn, each by what begins it. */
interface Waiting {
  readonly first: (() => void)[];
  readonly others: (() => void)[];
}

/**
 * Turns per key, in order of arrival; different keys run in parallel. So the commands of one
 * process do not conflict with each other: 64 parallel redemptions are 64 decisions, without
 * hundreds of retries.
 */
export class OneAtATime {
  /** Of the keys that are taken. */
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly waitingMax: number) {}

  /**
   * Waits for the key's turn. The returned function ends it: called in a `finally`.
   * @param goesFirst before those that arrived and have not waited for this turn yet.
   * @throws {TooBusy} when the queue of the key is full.
   */
  async enter(key: string, goesFirst = false): Promise<() => void> {
    const queue = this.waiting.get(key);
    if (queue === undefined) {
      if (this.waitingMax < 1) throw new TooBusy();
      this.waiting.set(key, { first: [], others: [] });
    } else {
      const { first, others } = queue;
      if (1 + first.length + others.length >= this.waitingMax) throw new TooBusy();
      await new Promise<void>((resolve) => (goesFirst ? first : others).push(resolve));
    }
    return () => this.next(key);
  }

  private next(key: string): void {
    const queue = this.waiting.get(key);
    const begin = queue?.first.shift() ?? queue?.others.shift();
    if (begin === undefined) this.waiting.delete(key);
    else begin();
  }
}

/** The queue is full. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}
