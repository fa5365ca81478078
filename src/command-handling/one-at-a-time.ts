/**
 * Runs work one after the other per key, in order of arrival; different keys run side by side.
 * Within one process the commands of a stream do not race each other: 64 parallel redemptions are
 * 64 decisions in a row, not hundreds of conflicts.
 */
export class OneAtATime {
  private readonly tails = new Map<string, { last: Promise<unknown>; waiting: number }>();

  constructor(private readonly waitingMax: number) {}

  /** @throws {TooBusy} when too much waits for the key already. */
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

/** More was asked for than can be done in time. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}
