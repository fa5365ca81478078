import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import type { EventLog } from '../../src/event-log/event-log.js';

/** The memory of the process after so many events. */
export interface MemorySample {
  readonly events: number;
  /** Live objects, after a collection. */
  readonly heapBytes: number;
  /** Beside the heap: the bytes of messages. */
  readonly externalBytes: number;
  /** Resident memory. */
  readonly residentBytes: number;
}

export interface MemoryReport {
  readonly samples: readonly MemorySample[];
  readonly eventsPerSecond: number;
  /** From the first third to the last third of the samples; less than zero when less is held. */
  readonly heapGrowthBytes: number;
  readonly residentGrowthBytes: number;
}

export interface CatchUpMemoryOptions {
  readonly log: EventLog;
  /** Number of events in the log. */
  readonly events: number;
  readonly sampleEvery: number;
  /** Microseconds of work for each event: more than the store needs to send it. */
  readonly slownessUs: number;
  /**
   * Collects garbage. Default: `--expose-gc`'s function; without it figures include uncollected
   * garbage.
   */
  readonly collect?: () => unknown;
  readonly onSample?: (sample: MemorySample) => void;
}

/** Small: some 150 bytes. */
export const smallEvent = () => ({
  id: randomUUID(),
  type: 'CreditRedeemed',
  data: JSON.stringify({ rewardId: 'a-reward', amount: 1 }),
  metadata: JSON.stringify({
    v: 1,
    at: 1_795_000_000_000,
    command: 'a-command',
    tenant: 'demo',
    mode: 'live',
  }),
});

/**
 * Follows the log with a consumer that is slower than the store, and measures the memory regularly.
 * A tail that read ahead of its consumer would grow by what it has read.
 */
export async function catchUpMemory(options: CatchUpMemoryOptions): Promise<MemoryReport> {
  const {
    log,
    events,
    sampleEvery,
    slownessUs,
    collect = globalThis.gc,
    onSample = () => undefined,
  } = options;
  const samples: MemorySample[] = [];
  const ending = new AbortController();
  const startedAt = performance.now();
  let seen = 0;
  for await (const page of log.follow(undefined, { signal: ending.signal })) {
    await work(page.length * slownessUs);
    const before = seen;
    seen += page.length;
    if (Math.floor(seen / sampleEvery) > Math.floor(before / sampleEvery)) {
      const sample = weigh(seen, collect);
      samples.push(sample);
      onSample(sample);
    }
    if (seen >= events) break;
  }
  ending.abort();
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    samples,
    eventsPerSecond: seen / seconds,
    heapGrowthBytes: growth(
      samples.map(({ heapBytes, externalBytes }) => heapBytes + externalBytes),
    ),
    residentGrowthBytes: growth(samples.map(({ residentBytes }) => residentBytes)),
  };
}

/** Blocks the process for this long, then lets pending input arrive. */
async function work(us: number): Promise<void> {
  const endsAt = performance.now() + us / 1000;
  while (performance.now() < endsAt) await breathe();
}

function weigh(events: number, collect: (() => unknown) | undefined): MemorySample {
  collect?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { events, heapBytes: heapUsed, externalBytes: external, residentBytes: rss };
}

function growth(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  const mean = (some: readonly number[]): number =>
    some.reduce((sum, value) => sum + value, 0) / some.length;
  return mean(values.slice(-third)) - mean(values.slice(0, third));
}
