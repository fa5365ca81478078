import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { EventLog, NewEvent } from '../../src/event-log/event-log.js';
import { enterWorld } from '../../src/foundation/world.js';

/**
 * Puts this process into the past: commands decide with that clock, and the log takes what they
 * record as a copy takes the events of another log, with the time at which they were recorded there
 * (docs/adr/0014). So statements, closed months and time travel show the past as such.
 */
export class Past {
  private events = 0;
  private readonly logId = randomBytes(4).toString('hex');
  private readonly leaving: (() => void)[] = [];

  private constructor(private at: number) {}

  /** @param at epoch milliseconds. */
  static enter(log: EventLog, at: number): Past {
    const past = new Past(at);
    past.leaving.push(enterWorld(past.world()), past.records(log));
    return past;
  }

  /** @param at no earlier than now. */
  moveTo(at: number): void {
    if (at < this.at) throw new RangeError('the past only goes forwards');
    this.at = at;
  }

  /** The same until it is moved, so that the same seed has the same dates. */
  now(): number {
    return this.at;
  }

  leave(): void {
    for (const leave of this.leaving.splice(0)) leave();
  }

  private world(): Parameters<typeof enterWorld>[0] {
    return {
      now: () => this.now(),
      elapsed: () => performance.now(),
      after: (ms, call, keepsProcess) => {
        const timer = setTimeout(call, ms);
        if (!keepsProcess) timer.unref();
        return () => clearTimeout(timer);
      },
      uuid: () => randomUUID(),
      bytes: (length) => randomBytes(length),
      below: (end) => randomInt(end),
    };
  }

  /** Every append of this process has an origin from now on. */
  private records(log: EventLog): () => void {
    const append = log.append.bind(log);
    log.append = (stream, expected, events, end) =>
      append(stream, expected, this.recordedThen(events), end);
    return () => void (log.append = append);
  }

  private recordedThen(events: readonly NewEvent[]): readonly NewEvent[] {
    const recordedAt = this.now();
    return events.map((event) => {
      this.events += 1;
      return { ...event, origin: { position: `${this.logId}-${this.events}`, recordedAt } };
    });
  }
}
