import type { Faults } from './faults.js';
import type { Owner, VirtualWorld } from './virtual-world.js';

const LATE_MS = 500;

/** The line between a process and the stores: everything on it takes time, and may go wrong. */
export class Connection {
  constructor(
    private readonly world: VirtualWorld,
    private readonly faults: Faults,
  ) {}

  /** A question, which changes nothing. @throws what `away` makes, when it was lost on the way. */
  read<T>(kind: string, away: () => Error, question: () => T): Promise<T> {
    const isLost = this.faults.happens(`${kind} lost`);
    return this.world.call(() => {
      if (isLost) throw away();
      return question();
    });
  }

  /**
   * A change. It may be lost on the way, take effect without its answer arriving, take effect long
   * after the caller was told that it failed, or arrive once more: the store must know it again.
   */
  write<T>(kind: string, away: () => Error, change: () => T): Promise<T> {
    if (this.faults.happens(`${kind} late`)) {
      this.world.arrive(quietly(change), LATE_MS);
      return this.world.call(() => {
        throw away();
      });
    }
    const isLost = this.faults.happens(`${kind} lost`);
    const isUnanswered = !isLost && this.faults.happens(`${kind} unanswered`);
    const isRepeated = !isLost && this.faults.happens(`${kind} repeated`);
    return this.world.call(() => {
      if (isLost) throw away();
      const answer = change();
      if (isRepeated) this.world.arrive(quietly(change));
      if (isUnanswered) throw away();
      return answer;
    });
  }

  /** A message to a process, which may be lost, doubled or late. */
  notify(to: Owner, message: () => void): void {
    if (this.faults.happens('notification lost')) return;
    this.world.deliver(to, message);
    if (this.faults.happens('notification doubled')) this.world.deliver(to, message);
  }

  /**
   * A message on a connection that its receiver watches: one that is lost is lost with the
   * connection, and the receiver learns of that.
   */
  announce(to: Owner, message: () => void, onLoss: () => void): void {
    const isLost = this.faults.happens('announcement lost');
    this.world.deliver(to, isLost ? onLoss : message);
    if (!isLost && this.faults.happens('notification doubled')) this.world.deliver(to, message);
  }
}

/** Without anybody who waits for its answer. */
function quietly(change: () => unknown): () => void {
  return () => {
    try {
      change();
    } catch {
      // A refusal, which nobody reads.
    }
  };
}
