import {
  EventLogUnavailable,
  type EventLog,
  type Position,
  type RecordedEvent,
} from '../../event-log/event-log.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { NotDone } from '../outcome.js';

/** The work was stopped; its finished part remains. */
export class Stopped extends NotDone {
  constructor() {
    super('REFUSED', ['stopped before the end: the same command again continues or repeats it']);
  }
}

export interface Patience {
  readonly signal: AbortSignal;
  /** How long an unreachable log is retried; default: a minute, and the work can be run again. */
  readonly awayMsMax?: number;
}

const RETRY = { first: 50, max: 2_000 };

/**
 * Retries while the log is unreachable. @throws {Stopped} @throws {EventLogUnavailable} when it
 * stays unreachable for too long.
 */
export async function patiently<T>(
  { signal, awayMsMax = 60_000 }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  for (let failures = 0; ; failures++) {
    if (signal.aborted) throw new Stopped();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EventLogUnavailable) || performance.now() - startedAt > awayMsMax)
        throw error;
      await pause(backOffMs(failures, RETRY), signal);
    }
  }
}

/** The newest event of a log; null: it is empty. @throws as `patiently`. */
export const headOf = async (
  log: Pick<EventLog, 'head'>,
  patience: Patience,
): Promise<Position | null> => (await patiently(patience, () => log.head())) ?? null;

const PAGE = 1_000;

/** Reads a log page by page; the next page is fetched while one is processed. */
export class LogReader {
  private page: readonly RecordedEvent[] = [];
  private next: Promise<readonly RecordedEvent[]> | undefined;
  private last: Position | undefined;
  private taken = 0;

  /**
   * @param upTo the last event to read; null: none.
   * @param after reading begins after this event; default: at the beginning.
   */
  constructor(
    private readonly log: Pick<EventLog, 'readAll' | 'compare'>,
    private readonly patience: Patience,
    private readonly upTo: Position | null,
    after?: Position,
  ) {
    this.last = after;
  }

  /** Number of events taken so far. */
  get count(): number {
    return this.taken;
  }

  /** The next events that were fetched; empty at the end. */
  async ahead(): Promise<readonly RecordedEvent[]> {
    if (this.page.length === 0) {
      this.page = await (this.next ?? this.read());
      this.next = undefined;
      const last = this.page.at(-1);
      if (last !== undefined) {
        this.last = last.position;
        this.next = this.read();
        // The next reader of the page receives the error; there may be none.
        this.next.catch(() => undefined);
      }
    }
    return this.page;
  }

  take(count: number): void {
    this.page = this.page.slice(count);
    this.taken += count;
  }

  /** All pages that are left; one is taken when the next one is asked for. */
  async *pages(): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
    for (let page = await this.ahead(); page.length > 0; page = await this.ahead()) {
      yield page;
      this.take(page.length);
    }
  }

  private async read(): Promise<readonly RecordedEvent[]> {
    const { last, upTo } = this;
    if (upTo === null || this.log.compare(last, upTo) >= 0) return [];
    const events = await patiently(this.patience, () => this.log.readAll(last, PAGE));
    // Almost every page ends before `upTo`: checking its last event is enough.
    if (this.log.compare(events.at(-1)?.position, upTo) <= 0) return events;
    return events.filter(({ position }) => this.log.compare(position, upTo) <= 0);
  }
}
