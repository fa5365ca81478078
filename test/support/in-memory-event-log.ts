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
} from '../../src/event-log/event-log.js';

import { asFirstRecorded, withOrigins } from '../../src/event-log/first-recorded.js';

/**
 * A log for tests of what reads it: positions are `m-1`, `m-2` …; `away` makes every call fail
 * until it is back.
 */
export class InMemoryEventLog implements EventLog {
  private readonly events: RecordedEvent[] = [];
  private readonly byStream = new Map<string, RecordedEvent[]>();
  private readonly listeners = new Set<() => void>();
  private readonly wentBack = new Set<(from: SeenEvent) => void>();
  epoch = 0;
  away = false;
  /** How often somebody asked for a page, by `readAll` or while following. */
  reads = 0;

  constructor(private readonly clock: () => number = Date.now) {}

  get newestSeen(): SeenEvent | undefined {
    const last = this.events.at(-1);
    return last && { position: last.position, eventId: last.id };
  }

  onWentBack(listener: (from: SeenEvent) => void): () => void {
    this.wentBack.add(listener);
    return () => this.wentBack.delete(listener);
  }

  checkNewestSeen(): Promise<void> {
    return Promise.resolve();
  }

  holds({ position, eventId }: SeenEvent): Promise<boolean> {
    return this.answer(() =>
      this.events.some((event) => event.position === position && event.id === eventId),
    );
  }

  /** Loses everything behind the first `kept` events, and notices it. */
  loseTail(kept: number): void {
    const from = this.newestSeen;
    this.events.splice(kept);
    for (const [stream, known] of this.byStream) {
      const left = known.filter((event) => this.events.includes(event));
      if (left.length === 0) this.byStream.delete(stream);
      else this.byStream.set(stream, left);
    }
    this.epoch += 1;
    if (from) for (const listener of [...this.wentBack]) listener(from);
    for (const wake of this.listeners) wake();
  }

  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    return this.answer(() => {
      const known = this.byStream.get(stream) ?? [];
      const actual = known.at(-1)?.revision ?? 'no-stream';
      if (actual !== expected || (end !== undefined && end.eventId !== known.at(-1)?.id))
        return { kind: 'conflict', expected, actual };
      const first = actual === 'no-stream' ? 0n : actual + 1n;
      const recordedAt = this.clock();
      for (const [index, { id, type, data, metadata }] of withOrigins(events).entries()) {
        const stored = {
          id,
          type,
          data,
          metadata,
          stream,
          revision: first + BigInt(index),
          position: `m-${this.events.length + 1}`,
          recordedAt,
        };
        const recorded = asFirstRecorded(stored);
        this.events.push(recorded);
        known.push(recorded);
        this.byStream.set(stream, known);
      }
      for (const wake of this.listeners) wake();
      const position = `m-${this.events.length}`;
      return { kind: 'appended', position, revision: first + BigInt(events.length - 1) };
    });
  }

  positionBefore(position: Position, events: number): Position {
    return `m-${numberOf(position) - events}`;
  }

  eventsBetween(after: Position | undefined, upTo: Position | undefined): number {
    return numberOf(upTo) - numberOf(after);
  }

  async *readStream(
    stream: string,
    { from = 0n, end, limit }: ReadStreamOptions = {},
  ): AsyncIterable<RecordedEvent> {
    const start = end === undefined ? from : end.revision + 1n;
    const known = this.byStream.get(stream) ?? [];
    if (end !== undefined && known[Number(end.revision)]?.id !== end.eventId)
      throw new LogWentBack();
    yield* await this.answer(() =>
      known.filter((event) => event.revision >= start).slice(0, limit),
    );
  }

  readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    return this.answer(() => {
      this.reads += 1;
      const start = numberOf(after);
      return this.events.slice(start, start + limit);
    });
  }

  async *follow(
    after: Position | undefined,
    { signal, pageSize = 100 }: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncIterable<readonly RecordedEvent[]> {
    const { epoch } = this;
    for (let at = numberOf(after); !signal.aborted;) {
      if (epoch !== this.epoch) throw new LogWentBack();
      const page = this.away ? [] : this.events.slice(at, at + pageSize);
      if (page.length === 0) {
        await this.news(signal);
        continue;
      }
      this.reads += 1;
      at += page.length;
      yield page;
    }
  }

  head(): Promise<Position | undefined> {
    return this.answer(() => this.events.at(-1)?.position);
  }

  compare(a: Position | undefined, b: Position | undefined): number {
    return numberOf(a) - numberOf(b);
  }

  fraction(at: Position | undefined, end: Position | undefined): number {
    return end === undefined ? 1 : numberOf(at) / numberOf(end);
  }

  order(position: Position): bigint {
    return BigInt(numberOf(position));
  }

  isPosition(token: string): boolean {
    return /^m-[1-9][0-9]*$/.test(token);
  }

  id(): Promise<string> {
    return this.answer(() => 'memory');
  }

  check(): Promise<LogCheck> {
    return this.answer(() => {
      const newest = this.events.at(-1);
      return { store: 'memory', head: newest?.position, recordedAt: newest?.recordedAt };
    });
  }

  comeBack(): void {
    this.away = false;
    for (const wake of this.listeners) wake();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async answer<T>(work: () => T): Promise<T> {
    if (this.away) throw new EventLogUnavailable('the log is away');
    return Promise.resolve(work());
  }

  private news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.listeners.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.listeners.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      if (signal.aborted) wake();
    });
  }
}

const numberOf = (position: Position | undefined): number =>
  position === undefined ? 0 : Number(position.slice(2));
