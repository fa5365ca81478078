import { randomUUID } from 'node:crypto';
import type { EventLogObserver } from '../../../src/event-log/event-log-observer.js';
import type {
  AppendResult,
  EventLog,
  NewEvent,
  Position,
  RecordedEvent,
} from '../../../src/event-log/event-log.js';
import { parseEventStoreUrl } from '../../../src/config/event-store-url.js';
import {
  EventStoreDbEventLog,
  type EventStoreDbEventLogOptions,
} from '../../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import { startEventStoreDbDouble } from '../../harness/eventstoredb-double/double.js';
import { openForEach } from '../../support/opened.js';

/** The prefix of these logs' streams; all other streams in the store are foreign. */
export const PREFIX = 'ours-';

/** A tail without a wake-up does not poll during a test: it delivers only what it was woken for. */
export const NEVER_BY_ITSELF = { pollIntervalMs: 600_000 };

export type LogOptions = Partial<Omit<EventStoreDbEventLogOptions, 'address'>>;

export class Observed implements EventLogObserver {
  readonly outcomes: string[] = [];
  retries = 0;
  unknownOutcomes = 0;
  restarts = 0;

  readonly append = (_ms: number, outcome: string): void => void this.outcomes.push(outcome);
  readonly retry = (): void => void this.retries++;
  readonly unknownOutcome = (): void => void this.unknownOutcomes++;
  readonly subscriptionRestart = (): void => void this.restarts++;
}

/**
 * Opens logs with time limits that a busy machine can meet, unless the test gives its own, closes
 * them all, and collects every unhandled rejection of the process.
 */
export class LogsOfATest {
  private readonly logs: EventStoreDbEventLog[] = [];
  readonly unhandled: unknown[] = [];
  private readonly note = (reason: unknown): void => void this.unhandled.push(reason);

  constructor() {
    process.on('unhandledRejection', this.note);
  }

  open(url: string, options: LogOptions = {}): EventStoreDbEventLog {
    const log = new EventStoreDbEventLog({
      address: parseEventStoreUrl(url),
      owner: 'owner',
      prefix: PREFIX,
      readTimeoutMs: 10_000,
      appendTimeoutMs: 10_000,
      ...options,
    });
    this.logs.push(log);
    return log;
  }

  async close(): Promise<void> {
    await Promise.all(this.logs.splice(0).map((log) => log.close()));
    process.off('unhandledRejection', this.note);
  }
}

export const newEvent = (data = '{"n":1}'): NewEvent => ({
  id: randomUUID(),
  type: 'Happened',
  data,
  metadata: '{}',
});

export const newEvents = (count: number): NewEvent[] =>
  Array.from({ length: count }, (_, n) => newEvent(`{"n":${n}}`));

export async function appended(
  pending: Promise<AppendResult>,
): Promise<Extract<AppendResult, { kind: 'appended' }>> {
  const result = await pending;
  if (result.kind !== 'appended') throw new Error(`not appended: ${result.kind}`);
  return result;
}

export async function collect(events: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

export interface RunningTail {
  readonly events: readonly RecordedEvent[];
  readonly ids: readonly string[];
  stop(): Promise<void>;
}

export function startTail(log: EventLog, after?: Position): RunningTail {
  const ending = new AbortController();
  const events: RecordedEvent[] = [];
  const run = async (): Promise<void> => {
    for await (const page of log.follow(after, { signal: ending.signal })) events.push(...page);
  };
  const running = run();
  return {
    events,
    get ids() {
      return events.map(({ id }) => id);
    },
    stop: () => {
      ending.abort();
      return running;
    },
  };
}

export async function timed<T>(
  work: Promise<T>,
): Promise<{ readonly ms: number; readonly error: unknown; readonly value: T | undefined }> {
  const startedAt = performance.now();
  const settled = await work.then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  );
  return { ...settled, ms: performance.now() - startedAt };
}

/**
 * A double and logs of its own for each test around; what they leave open is closed, and nothing
 * may be left unhandled.
 */
export function eachTestOnADouble() {
  afterEach(() => double.faults.clear());
  const double = openForEach(startEventStoreDbDouble, 'stop');
  const logs = openForEach(() => new LogsOfATest(), 'close');
  afterEach(() => expect(logs.unhandled).toEqual([]));
  return { double, logs };
}
