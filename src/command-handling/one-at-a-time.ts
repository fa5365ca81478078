/** Who waits for a turn. */
interface Waiter {
  readonly begin: () => void;
  readonly fail: (failure: Error) => void;
}

/** Those that wait for the turns of a key. */
interface Waiting {
  readonly first: Waiter[];
  readonly others: Waiter[];
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
   * Waits for the key's turn. The returned function ends it: called in a `finally`. With a failure
   * all that wait for the key fail, too.
   * @param goesFirst before those that arrived and have not waited for this turn yet.
   * @throws {TooBusy} when the queue of the key is full. @throws the failure of a turn before.
   */
  async enter(key: string, goesFirst = false): Promise<(failure?: Error) => void> {
    const queue = this.waiting.get(key);
    if (queue === undefined) {
      if (this.waitingMax < 1) throw new TooBusy();
      this.waiting.set(key, { first: [], others: [] });
    } else {
      const { first, others } = queue;
      if (1 + first.length + others.length >= this.waitingMax) throw new TooBusy();
      await new Promise<void>((begin, fail) => (goesFirst ? first : others).push({ begin, fail }));
    }
    return (failure) => (failure === undefined ? this.next(key) : this.fail(key, failure));
  }

  private next(key: string): void {
    const queue = this.waiting.get(key);
    const next = queue?.first.shift() ?? queue?.others.shift();
    if (next === undefined) this.waiting.delete(key);
    else next.begin();
  }

  private fail(key: string, failure: Error): void {
    const queue = this.waiting.get(key);
    this.waiting.delete(key);
    for (const { fail } of [...(queue?.first ?? []), ...(queue?.others ?? [])]) fail(failure);
  }
}

/** The queue is full. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}
