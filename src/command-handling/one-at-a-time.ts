/**
 * Runs work one after the other per key, in order of arrival; different keys run in parallel. So
 * the commands of one process do not conflict with each other: 64 parallel redemptions are 64
 * decisions, without hundreds of retries.
 */
export class OneAtATime {
  private readonly tails = new Map<string, { last: Promise<unknown>; waiting: number }>();

  constructor(private readonly waitingMax: number) {}

  /** @throws {TooBusy} when the queue of the key is full. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const queue = this.tails.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= this.waitingMax) throw new TooBusy();
    queue.waiting++;
    this.tails.set(key, queue);
    const mine = queue.last.then(work, work);
    queue.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      queue.waiting--;
      if (queue.waiting === 0) this.tails.delete(key);
    }
  }
}

/** The queue is full. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}
