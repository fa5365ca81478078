import { EventLogUnavailable } from '../event-log/event-log.js';
import { elapsed } from '../foundation/world.js';
import { isUnavailable } from '../postgres/database.js';

const WAITING_PER_STREAM_MAX = 1_000;
/** A slower failure of a command also fails the commands that waited for it. */
const SLOW_FAILURE_MS = 1_000;

/** The right to write to a stream. `end`, called in a `finally`, passes it on. */
export interface Turn {
  /** After a slow failure of the store, fails the waiting commands: each would wait as long. */
  failed(error: unknown): void;
  end(): void;
}

interface Waiting {
  readonly begin: () => void;
  readonly fail: (error: unknown) => void;
}

interface Queue {
  readonly first: Waiting[];
  readonly others: Waiting[];
}

/** Queues this process's commands per stream, in order of arrival; streams run in parallel. */
export class StreamQueues {
  private readonly queues = new Map<string, Queue>();

  /**
   * @param goesFirst before those that arrived and have not waited for this turn yet.
   * @throws {TooBusy} when the queue is full.
   */
  async turn(stream: string, goesFirst: boolean): Promise<Turn> {
    const queue = this.queues.get(stream);
    if (queue === undefined) this.queues.set(stream, { first: [], others: [] });
    else {
      const { first, others } = queue;
      if (1 + first.length + others.length >= WAITING_PER_STREAM_MAX) throw new TooBusy();
      await new Promise<void>((begin, fail) => (goesFirst ? first : others).push({ begin, fail }));
    }
    const beganAt = elapsed();
    return {
      failed: (error) => {
        if (isOfStore(error) && elapsed() - beganAt >= SLOW_FAILURE_MS) this.fail(stream, error);
      },
      end: () => this.next(stream),
    };
  }

  private next(stream: string): void {
    const { first = [], others = [] } = this.queues.get(stream) ?? {};
    const next = first.shift() ?? others.shift();
    if (next === undefined) this.queues.delete(stream);
    else next.begin();
  }

  private fail(stream: string, cause: unknown): void {
    const { first = [], others = [] } = this.queues.get(stream) ?? {};
    const message = 'a command before this one failed at a store';
    const failure = new EventLogUnavailable(message, { cause });
    for (const waiting of [...first.splice(0), ...others.splice(0)]) waiting.fail(failure);
  }
}

/** The stream has too many commands, or lost too many tries. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}

const isOfStore = (failure: unknown): boolean =>
  failure instanceof EventLogUnavailable || isUnavailable(failure);
