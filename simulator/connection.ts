import type { Faults } from './faults.js';
import type { Outages } from './outages.js';
import type { Owner, VirtualWorld } from './virtual-world.js';

const LATE_MS = 500;

export interface ConnectionParts {
  readonly world: VirtualWorld;
  readonly faults: Faults;
  readonly outages: Outages;
  /** Called at each change: the moments at which the death of a process matters. */
  readonly onChange: () => void;
}

/** The line between a process and the stores: everything on it takes time, and may go wrong. */
export class Connection {
  constructor(private readonly parts: ConnectionParts) {}

  /** A question, which changes nothing. @throws what `away` makes, when it was lost on the way. */
  read<T>(kind: string, away: () => Error, question: () => T): Promise<T> {
    const { world, faults, outages } = this.parts;
    const isLost = faults.happens(`${kind} lost`);
    return world.call(() => {
      if (isLost || outages.refuses(kind, false)) throw away();
      return question();
    });
  }

  /**
   * A change. It may be lost on the way, take effect without its answer arriving, take effect long
   * after the caller learned that it failed, or arrive once more: the store must know it again.
   */
  write<T>(kind: string, away: () => Error, change: () => T): Promise<T> {
    const { world, faults, outages, onChange } = this.parts;
    onChange();
    if (faults.happens(`${kind} late`)) {
      world.arrive(quietly(change), LATE_MS);
      return world.call(() => {
        throw away();
      });
    }
    const isLost = faults.happens(`${kind} lost`);
    const isUnanswered = !isLost && faults.happens(`${kind} unanswered`);
    const isRepeated = !isLost && faults.happens(`${kind} repeated`);
    return world.call(() => {
      if (isLost || outages.refuses(kind, true)) throw away();
      const answer = change();
      if (isRepeated) world.arrive(quietly(change));
      if (isUnanswered) throw away();
      return answer;
    });
  }

  /** Whether appends to this stream fail at the moment. */
  isBroken(stream: string): boolean {
    return this.parts.outages.isBroken(stream);
  }

  /** A message to a process, which may be lost, doubled or late. */
  notify(to: Owner, message: () => void): void {
    const { world, faults } = this.parts;
    if (faults.happens('notification lost')) return;
    world.deliver(to, message);
    if (faults.happens('notification doubled')) world.deliver(to, message);
  }

  /**
   * A message on a connection that its receiver watches: one that is lost is lost with the
   * connection, and the receiver learns of that.
   */
  announce(to: Owner, message: () => void, onLoss: () => void): void {
    const { world, faults } = this.parts;
    const isLost = faults.happens('announcement lost');
    world.deliver(to, isLost ? onLoss : message);
    if (!isLost && faults.happens('notification doubled')) world.deliver(to, message);
  }
}

/** What the simulated stores need of it. */
export type Line = Pick<Connection, 'read' | 'write'>;
/** What the simulated log needs of it. */
export type LogLine = Line & Pick<Connection, 'notify' | 'isBroken'>;

/** Without a caller that waits for its answer. */
function quietly(change: () => unknown): () => void {
  return () => {
    try {
      change();
    } catch {
      // A refusal without a reader.
    }
  };
}
