import {
  EventLogUnavailable,
  type AppendResult,
  type EventLog,
  type NewEvent,
  type ReadStreamOptions,
} from '../../../src/event-log/event-log.js';

type Append = Parameters<EventLog['append']>;

/**
 * A log that forwards every call to another one; a test overrides the call that it troubles. The
 * compiler cannot know that a proxy has the members of a log.
 */
const LogAround = class {
  constructor(readonly log: EventLog) {
    return new Proxy(this, {
      get: (own, member): unknown => {
        if (member in own) return Reflect.get(own, member);
        const value: unknown = Reflect.get(log, member);
        return typeof value === 'function' ? (value.bind(log) as unknown) : value;
      },
    });
  }
} as unknown as new (log: EventLog) => EventLog & { readonly log: EventLog };

/** Counts the reads of streams, and how many of them ran at the same time. */
export class CountingLog extends LogAround {
  streamReads = 0;
  atOnceMax = 0;
  private running = 0;

  override async *readStream(stream: string, options?: { readonly from?: bigint }) {
    this.streamReads++;
    this.running++;
    this.atOnceMax = Math.max(this.atOnceMax, this.running);
    try {
      yield* this.log.readStream(stream, options);
    } finally {
      this.running--;
    }
  }
}

/**
 * A process that dies right after its n-th append: the append is recorded, its answer is lost, and
 * nothing follows.
 */
export class DyingLog extends LogAround {
  appends = 0;

  constructor(
    log: EventLog,
    private readonly lastAppend: number,
  ) {
    super(log);
  }

  get isDead(): boolean {
    return this.appends >= this.lastAppend;
  }

  override async append(...call: Append): Promise<AppendResult> {
    if (this.isDead) throw new EventLogUnavailable('the process is dead');
    const result = await this.log.append(...call);
    if (result.kind === 'conflict') return result;
    this.appends++;
    if (this.isDead) throw new EventLogUnavailable('the process is dead');
    return result;
  }

  override readStream(stream: string, options?: ReadStreamOptions) {
    if (this.isDead) throw new EventLogUnavailable('the process is dead');
    return this.log.readStream(stream, options);
  }
}

/** An append whose answer is lost, once; the log continues. */
export class ForgetfulLog extends LogAround {
  private losesNext = false;

  loseNextAnswer(): void {
    this.losesNext = true;
  }

  override async append(...call: Append): Promise<AppendResult> {
    const result = await this.log.append(...call);
    if (!this.losesNext) return result;
    this.losesNext = false;
    throw new EventLogUnavailable('no answer came in time');
  }
}

/** Something happens to the log while a stream is read, once: behind so many of its events. */
export class InterruptedLog extends LogAround {
  private isOver = false;

  constructor(
    log: EventLog,
    private readonly behind: number,
    private readonly happens: () => Promise<void>,
  ) {
    super(log);
  }

  override async *readStream(stream: string, options?: ReadStreamOptions) {
    let count = 0;
    for await (const event of this.log.readStream(stream, options)) {
      yield event;
      if (++count !== this.behind || this.isOver) continue;
      this.isOver = true;
      await this.happens();
    }
  }
}

/** Appends of one kind wait at a gate, so that a test can let others go first. */
export class GatedLog extends LogAround {
  private arrived: (() => void) | undefined;
  private readonly opened: Promise<void>;
  open: () => void = () => undefined;
  /** Settles once an append waits at the gate. */
  readonly reached: Promise<void>;

  constructor(
    log: EventLog,
    private readonly stops: (stream: string, events: readonly NewEvent[]) => boolean,
  ) {
    super(log);
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
    this.reached = new Promise((resolve) => {
      this.arrived = resolve;
    });
  }

  override async append(...call: Append): Promise<AppendResult> {
    if (this.stops(call[0], call[2])) {
      this.arrived?.();
      await this.opened;
    }
    return this.log.append(...call);
  }
}
