import type { LogLine } from '../../simulator/connection.js';
import { SimulatedEventLog } from '../../simulator/simulated-event-log.js';
import { SimulatedStore } from '../../simulator/simulated-store.js';
import { Owner } from '../../simulator/virtual-world.js';
import {
  EventLogUnavailable,
  type Position,
  type RecordedEvent,
} from '../../src/event-log/event-log.js';
import { PostgresPositions } from '../../src/event-log/postgres/postgres-positions.js';

/** `m-1`, `m-2` … */
class ShortPositions extends PostgresPositions {
  constructor() {
    super('m');
  }

  override parse(token: string): bigint | undefined {
    return /^m-[1-9]\d*$/.test(token) ? BigInt(token.slice(2)) : undefined;
  }
}

class Line implements LogLine {
  away = false;

  async read<T>(_kind: string, _away: () => Error, question: () => T): Promise<T> {
    if (this.away) throw new EventLogUnavailable('the log is away');
    return question();
  }

  write<T>(kind: string, away: () => Error, change: () => T): Promise<T> {
    return this.read(kind, away, change);
  }

  notify(_to: Owner, message: () => void): void {
    if (!this.away) message();
  }

  isBroken(): boolean {
    return false;
  }
}

export const newMemoryStore = (clock: () => number = Date.now): SimulatedStore =>
  new SimulatedStore('memory', clock, new ShortPositions());

/** The simulator's log for tests of what reads it; `away` makes every call fail. */
export class InMemoryEventLog extends SimulatedEventLog {
  private readonly connection: Line;
  reads = 0;

  constructor(clock?: () => number, store: SimulatedStore = newMemoryStore(clock)) {
    const line = new Line();
    super(store, line, new Owner('test'));
    this.connection = line;
  }

  get away(): boolean {
    return this.connection.away;
  }

  set away(isAway: boolean) {
    this.connection.away = isAway;
  }

  /** The log is reached again, and tails look immediately. */
  comeBack(): void {
    this.away = false;
  }

  override readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    this.reads += 1;
    return super.readAll(after, limit);
  }

  /** An operator accepts that the newest event is ahead of the clock. */
  acceptClock(): void {
    this.store.acceptClock();
  }

  /** Loses everything after the first `kept` events, and notices it. */
  loseTail(kept: number): void {
    const { newest, epoch } = this.seen;
    this.store.keepOnly(kept);
    this.era = this.store.era;
    if (newest) this.seen.wentBack(newest, epoch);
  }
}
