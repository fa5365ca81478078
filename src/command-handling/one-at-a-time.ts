/**
 * Turns per key, in order of arrival; different keys run in parallel. So the commands of one
 * process do not conflict with each other: 64 parallel redemptions are 64 decisions, without
 * hundreds of retries.
 */
export class OneAtATime {
  private readonly tails = new Map<string, { last: Promise<void>; waiting: number }>();

  constructor(private readonly waitingMax: number) {}

  /**
   * Waits for the key's turn. The returned function ends it: called in a `finally`.
   * @throws {TooBusy} when the queue of the key is full.
   */
  async enter(key: string): Promise<() => void> {
    const queue = this.tails.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= this.waitingMax) throw new TooBusy();
    queue.waiting++;
    this.tails.set(key, queue);
    const before = queue.last;
    let endTurn = (): void => undefined;
    queue.last = new Promise((resolve) => (endTurn = resolve));
    await before;
    return () => {
      queue.waiting--;
      if (queue.waiting === 0) this.tails.delete(key);
      endTurn();
    };
  }
}

/** The queue is full. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}
