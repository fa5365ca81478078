import {
  EventLogUnavailable,
  type AppendResult,
  type EventLog,
  type ExpectedRevision,
  type NewEvent,
  type ReadStreamOptions,
  type SeenEvent,
  type StreamEnd,
} from '../../../src/event-log/event-log.js';

/** A log that hands everything on; what a test troubles it overrides. */
abstract class LogAround implements EventLog {
  constructor(protected readonly log: EventLog) {}

  get newestSeen() {
    return this.log.newestSeen;
  }
  get epoch() {
    return this.log.epoch;
  }
  onWentBack(listener: (from: SeenEvent) => void) {
    return this.log.onWentBack(listener);
  }
  checkNewestSeen() {
    return this.log.checkNewestSeen();
  }
  holds(event: SeenEvent) {
    return this.log.holds(event);
  }
  order(position: string) {
    return this.log.order(position);
  }
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    return this.log.append(stream, expected, events, end);
  }
  get positionBefore() {
    return this.log.positionBefore?.bind(this.log);
  }
  get eventsBetween() {
    return this.log.eventsBetween?.bind(this.log);
  }
  readStream(stream: string, options?: ReadStreamOptions) {
    return this.log.readStream(stream, options);
  }
  readAll(after: string | undefined, limit: number) {
    return this.log.readAll(after, limit);
  }
  follow(
    after: string | undefined,
    options: { readonly signal: AbortSignal; readonly pageSize?: number },
  ) {
    return this.log.follow(after, options);
  }
  head() {
    return this.log.head();
  }
  compare(a: string | undefined, b: string | undefined) {
    return this.log.compare(a, b);
  }
  fraction(at: string | undefined, end: string | undefined) {
    return this.log.fraction(at, end);
  }
  isPosition(token: string) {
    return this.log.isPosition(token);
  }
  id() {
    return this.log.id();
  }
  check() {
    return this.log.check();
  }
  close() {
    return this.log.close();
  }
}

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

  override async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    if (this.isDead) throw new EventLogUnavailable('the process is dead');
    const result = await super.append(stream, expected, events, end);
    if (result.kind === 'conflict') return result;
    this.appends++;
    if (this.isDead) throw new EventLogUnavailable('the process is dead');
    return result;
  }

  override readStream(stream: string, options?: ReadStreamOptions) {
    if (this.isDead) throw new EventLogUnavailable('the process is dead');
    return super.readStream(stream, options);
  }
}

/** An append whose answer is lost, once; the log goes on. */
export class ForgetfulLog extends LogAround {
  private losesNext = false;

  loseNextAnswer(): void {
    this.losesNext = true;
  }

  override async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    const result = await super.append(stream, expected, events, end);
    if (!this.losesNext) return result;
    this.losesNext = false;
    throw new EventLogUnavailable('no answer came in time');
  }
}

/** A log that is away for appends of one kind, as long as it is `away`. */
export class PartlyAwayLog extends LogAround {
  away = true;

  constructor(
    log: EventLog,
    private readonly misses: (events: readonly NewEvent[]) => boolean,
  ) {
    super(log);
  }

  override append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    if (this.away && this.misses(events))
      return Promise.reject(new EventLogUnavailable('the log is away'));
    return super.append(stream, expected, events, end);
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

/** Something happens to the log right behind an append of one kind, once. */
export class StruckLog extends LogAround {
  private isOver = false;

  constructor(
    log: EventLog,
    private readonly behind: (events: readonly NewEvent[]) => boolean,
    private readonly happens: () => Promise<void>,
  ) {
    super(log);
  }

  override async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    const result = await super.append(stream, expected, events, end);
    if (result.kind === 'appended' && !this.isOver && this.behind(events)) {
      this.isOver = true;
      await this.happens();
    }
    return result;
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

  override async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    if (this.stops(stream, events)) {
      this.arrived?.();
      await this.opened;
    }
    return super.append(stream, expected, events, end);
  }
}
