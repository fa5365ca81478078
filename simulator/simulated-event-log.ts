import { checkAppend } from '../src/event-log/append-checks.js';
import { Doorbell } from '../src/event-log/doorbell.js';
import {
  EventLogUnavailable,
  LogWentBack,
  type AppendResult,
  type EventLog,
  type ExpectedRevision,
  type LogCheck,
  type NewEvent,
  type Position,
  type ReadStreamOptions,
  type RecordedEvent,
  type SeenEvent,
  type StreamEnd,
} from '../src/event-log/event-log.js';
import { asFirstRecorded } from '../src/event-log/first-recorded.js';
import { followPages, type TailPage } from '../src/event-log/follow-pages.js';
import { NewestSeen } from '../src/event-log/newest-seen.js';
import type { LogLine } from './connection.js';
import type { SimulatedStore } from './simulated-store.js';
import type { Owner } from './virtual-world.js';

/** Small, so that streams are read in several pages. */
const STREAM_PAGE = 50;
const FOLLOW_PAGE = 100;
const POLL_MS = 500;

const unavailable = (): EventLogUnavailable => new EventLogUnavailable('the simulated log is away');

/** The log as one process reaches it. Behaves as the port promises, with the faults of its line. */
export class SimulatedEventLog implements EventLog {
  protected readonly seen = new NewestSeen();
  private readonly doorbell = new Doorbell();
  private readonly closing = new AbortController();
  private readonly stopListening: () => void;
  protected era: number;

  constructor(
    protected readonly store: SimulatedStore,
    private readonly line: LogLine,
    owner: Owner,
  ) {
    this.era = store.era;
    this.stopListening = store.listen((position) =>
      line.notify(owner, () => this.doorbell.ring(position)),
    );
  }

  get newestSeen(): SeenEvent | undefined {
    return this.seen.newest;
  }

  get epoch(): number {
    return this.seen.epoch;
  }

  onWentBack(listener: (from: SeenEvent) => void): () => void {
    return this.seen.onWentBack(listener);
  }

  async checkNewestSeen(): Promise<void> {
    const { epoch, newest } = this.seen;
    if (newest === undefined) return;
    if (await this.ask(() => this.doSeenStand())) this.seen.confirm(newest, epoch);
    else this.seen.wentBack(newest, epoch);
  }

  holds(event: SeenEvent): Promise<boolean> {
    return this.ask(() => this.store.holds(event));
  }

  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    checkAppend(stream, expected, events);
    if (this.closing.signal.aborted) throw unavailable();
    const { era, seen } = this;
    const { epoch } = seen;
    if (end !== undefined && end.epoch !== epoch)
      return { kind: 'conflict', expected, actual: expected };
    const result = await this.line.write('append', unavailable, () => {
      // The connection broke on the way.
      if (era !== this.store.era) return undefined;
      if (this.line.isBroken(stream)) throw unavailable();
      return this.store.append(stream, expected, events, end);
    });
    if (result === undefined) {
      await this.checkNewestSeen();
      throw unavailable();
    }
    if (result.kind === 'conflict') return result;
    const { position, revision } = result;
    const eventId = events.at(-1)?.id ?? '';
    seen.note(this.store.positions.number(position), { position, eventId }, epoch);
    this.doorbell.ring(this.store.positions.number(position));
    return { kind: 'appended', position, revision };
  }

  async *readStream(
    stream: string,
    { from = 0n, end, limit = Infinity }: ReadStreamOptions = {},
  ): AsyncIterable<RecordedEvent> {
    const { epoch } = end ?? this.seen;
    let known = end;
    let next = end === undefined ? from : end.revision + 1n;
    for (let left = limit; left > 0;) {
      const size = Math.min(left, STREAM_PAGE);
      const events = await this.ask(() => {
        const all = this.store.stream(stream);
        const stands = known === undefined || all[Number(known.revision)]?.id === known.eventId;
        return stands ? all.slice(Number(next), Number(next) + size) : undefined;
      });
      if (events === undefined) this.seen.lost(epoch);
      if (events === undefined || epoch !== this.seen.epoch) throw new LogWentBack();
      const page = this.noted(events, epoch);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < size) return;
      left -= page.length;
      known = { revision: last.revision, eventId: last.id, epoch };
      next = last.revision + 1n;
    }
  }

  async readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    const { epoch } = this.seen;
    const from = this.store.positions.number(after);
    return this.noted(await this.ask(() => this.store.behind(from, limit)), epoch);
  }

  async *follow(
    after: Position | undefined,
    {
      signal,
      pageSize = FOLLOW_PAGE,
    }: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
    yield* followPages({
      start: this.store.positions.number(after),
      read: this.tail(pageSize),
      ordinal: (cursor: bigint) => cursor,
      doorbell: this.doorbell,
      pollIntervalMs: POLL_MS,
      endings: [signal, this.closing.signal],
    });
  }

  head(): Promise<Position | undefined> {
    return this.ask(() =>
      this.store.head === 0n ? undefined : this.store.positions.token(this.store.head),
    );
  }

  compare(a: Position | undefined, b: Position | undefined): number {
    const [left, right] = [this.store.positions.number(a), this.store.positions.number(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  }

  order(position: Position): bigint {
    return this.store.positions.number(position);
  }

  isPosition(token: string): boolean {
    return this.store.positions.parse(token) !== undefined;
  }

  id(): Promise<string> {
    return this.ask(() => this.store.logId);
  }

  check(): Promise<LogCheck> {
    return this.ask(() => {
      const newest = this.store.all.at(-1);
      return { store: 'simulated', head: newest?.position, recordedAt: newest?.recordedAt };
    });
  }

  /** Of a process that is gone: the store sends it nothing more. */
  hangUp(): void {
    this.stopListening();
  }

  close(): Promise<void> {
    this.closing.abort();
    this.stopListening();
    return Promise.resolve();
  }

  /**
   * Asks the store. What the process learns from an answer it learns when the answer is there: what
   * a store sets off directly would run in the name of another process.
   */
  private async ask<T>(question: () => T): Promise<T> {
    if (this.closing.signal.aborted) throw unavailable();
    const { answer, era, seen } = await this.line.read('read', unavailable, () => ({
      answer: question(),
      era: this.store.era,
      seen: {
        newest: this.seen.newest,
        epoch: this.seen.epoch,
        // Within an era nothing that was seen goes.
        stands: this.era === this.store.era || this.doSeenStand(),
      },
    }));
    const { newest, epoch, stands } = seen;
    // A log that lost its end broke every connection: the next one compares what was seen.
    if (this.era !== era && newest !== undefined) {
      if (stands) this.seen.confirm(newest, epoch);
      else this.seen.wentBack(newest, epoch);
    }
    this.era = era;
    return answer;
  }

  private doSeenStand(): boolean {
    return this.seen.recent.every((event) => this.store.holds(event));
  }

  private noted(events: readonly RecordedEvent[], epoch: number): readonly RecordedEvent[] {
    const last = events.at(-1);
    if (last !== undefined)
      this.seen.note(
        this.store.positions.number(last.position),
        { position: last.position, eventId: last.id },
        epoch,
      );
    return events.map(asFirstRecorded);
  }

  private tail(pageSize: number): (cursor: bigint) => Promise<TailPage<bigint>> {
    const { epoch } = this.seen;
    let known: string | undefined;
    return async (cursor) => {
      const { at, behind } = await this.ask(() => ({
        at: this.store.at(cursor)?.id,
        behind: this.store.behind(cursor, pageSize),
      }));
      const isLost = cursor > 0n && (at === undefined || (known ?? at) !== at);
      if (isLost)
        this.seen.wentBack(
          { position: this.store.positions.token(cursor), eventId: known ?? '' },
          epoch,
        );
      if (epoch !== this.seen.epoch) throw new LogWentBack();
      const events = this.noted(behind, epoch);
      known = events.at(-1)?.id ?? known;
      return {
        events,
        next: cursor + BigInt(events.length),
        isFull: events.length === pageSize,
      };
    };
  }
}
