import {
  EventLogUnavailable,
  type EventLog,
  type Position,
  type RecordedEvent,
} from '../../src/event-log/event-log.js';
import { startEventStoreDbCluster } from '../harness/eventstoredb-double/cluster.js';
import type { EventStoreDbDouble } from '../harness/eventstoredb-double/double.js';
import { eventually } from '../support/embedded.js';
import {
  appended,
  eachTestOnADouble,
  type LogsOfATest,
  NEVER_BY_ITSELF,
  newEvent,
  newEvents,
  Observed,
  startTail,
} from './support/faulty-event-store.js';

const SUBSCRIBE = { methods: ['subscribe' as const] };

describe('tails of an EventStoreDB that misbehaves', () => {
  let double: EventStoreDbDouble;
  let logs: LogsOfATest;

  eachTestOnADouble((started, opened) => {
    double = started;
    logs = opened;
  });

  /** As another process would write them. @returns the ids of all that was ever written so. */
  const stored: string[] = [];
  beforeEach(() => void stored.splice(0));
  const storeBehindTheBack = (count: number): void => {
    const events = newEvents(count);
    double.storedBehindTheBack('ours-a', events);
    stored.push(...events.map(({ id }) => id));
  };

  const isSubscribed = async (): Promise<boolean> => double.subscriptions === 1;

  describe('a tail that only its subscription wakes, when the subscription', () => {
    it('is dropped as too slow in a burst, delivers every event once and in order', async () => {
      const observed = new Observed();
      const tail = startTail(
        logs.open(double.url, { ...NEVER_BY_ITSELF, readTimeoutMs: 5_000, observe: observed }),
      );
      await eventually(isSubscribed);
      double.faults.next('slow-consumer', 2, { ...SUBSCRIBE, burst: 100 });
      for (const strikes of [1, 2]) {
        for (let round = 0; round < 5; round++) storeBehindTheBack(200);
        await eventually(async () => double.faults.count('slow-consumer') === strikes);
        await eventually(async () => tail.ids.length === stored.length && (await isSubscribed()));
      }
      storeBehindTheBack(1);
      await eventually(async () => tail.ids.length === stored.length);
      await tail.stop();
      expect(tail.ids).toEqual(stored);
      expect(observed.restarts).toBe(2);
    });

    it.each<[string, () => void | Promise<void>]>([
      ['ends without an error', () => double.endOpenStreams()],
      ['loses its connection', () => double.cutConnections()],
      ['loses its server, which comes back', () => double.kill().then(() => double.restart())],
    ])('%s: it is made anew, and what came meanwhile is shown', async (_name, strike) => {
      const observed = new Observed();
      const tail = startTail(logs.open(double.url, { ...NEVER_BY_ITSELF, observe: observed }));
      await eventually(isSubscribed);
      storeBehindTheBack(3);
      await eventually(async () => tail.ids.length === 3);
      const before = double.calls.subscribe;
      await strike();
      storeBehindTheBack(3);
      await eventually(async () => double.calls.subscribe > before && (await isSubscribed()));
      await eventually(async () => tail.ids.length === 6);
      storeBehindTheBack(1);
      await eventually(async () => tail.ids.length === 7);
      await tail.stop();
      expect(tail.ids).toEqual(stored);
      expect(observed.restarts).toBeGreaterThanOrEqual(1);
    });

    it('misses an append of this process, replaces it', async () => {
      const observed = new Observed();
      const log = logs.open(double.url, {
        ...NEVER_BY_ITSELF,
        deafAfterMs: 100,
        observe: observed,
      });
      const tail = startTail(log);
      await eventually(isSubscribed);
      const before = double.calls.subscribe;
      double.faults.set('deaf', SUBSCRIBE);
      storeBehindTheBack(1);
      await eventually(async () => double.faults.count('deaf') >= 1);
      double.faults.next('deaf', 1, SUBSCRIBE);
      const own = newEvent();
      await appended(log.append('ours-own', 'no-stream', [own]));
      await eventually(async () => double.calls.subscribe > before);
      double.faults.clear('deaf');
      await eventually(async () => tail.ids.length === 2 && (await isSubscribed()));
      expect(tail.ids).toEqual([...stored, own.id]);
      storeBehindTheBack(1);
      await eventually(async () => tail.ids.length === 3);
      await tail.stop();
      expect(observed.restarts).toBeGreaterThanOrEqual(1);
    });

    it('misses appends of others, replaces it after its next poll', async () => {
      const observed = new Observed();
      const tail = startTail(
        logs.open(double.url, { pollIntervalMs: 50, deafAfterMs: 100, observe: observed }),
      );
      await eventually(isSubscribed);
      const before = double.calls.subscribe;
      double.faults.set('deaf', SUBSCRIBE);
      for (const shown of [1, 2, 3]) {
        storeBehindTheBack(1);
        await eventually(async () => tail.ids.length === shown);
      }
      await eventually(async () => double.calls.subscribe > before && (await isSubscribed()));
      await tail.stop();
      expect(observed.restarts).toBeGreaterThanOrEqual(1);
    });

    it('is never confirmed, makes another one', async () => {
      const observed = new Observed();
      double.faults.next('hung', 1, SUBSCRIBE);
      const tail = startTail(
        logs.open(double.url, { ...NEVER_BY_ITSELF, deafAfterMs: 100, observe: observed }),
      );
      await eventually(async () => double.calls.subscribe >= 2 && (await isSubscribed()));
      storeBehindTheBack(1);
      await eventually(async () => tail.ids.length === 1);
      await tail.stop();
      expect(observed.restarts).toBe(1);
    });
  });

  it('a tail or a read that is left early leaves no call open on the server', async () => {
    storeBehindTheBack(2_500);
    const log = logs.open(double.url, { ...NEVER_BY_ITSELF, readTimeoutMs: 5_000 });
    for await (const event of log.readStream('ours-a')) if (event.revision === 3n) break;
    await firstPage(log, undefined, 10);
    await eventually(async () => double.openReads === 0);
    expect(double.calls.subscribe).toBeLessThanOrEqual(1);
    // Half-way through a subscription as well.
    const tail = startTail(log);
    await eventually(isSubscribed);
    await tail.stop();
    await eventually(async () => double.openReads === 0);
  });

  it('a slow consumer stops reading ahead: a page is requested when the previous one was taken', async () => {
    const pageSize = 500;
    for (let stored = 0; stored < 6; stored += 1) storeBehindTheBack(pageSize);
    const log = logs.open(double.url);
    const ending = new AbortController();
    const reads: number[] = [];
    for await (const page of log.follow(undefined, { signal: ending.signal, pageSize })) {
      expect(page).toHaveLength(pageSize);
      // A call that makes the way to the store and back: what a tail had asked for meanwhile would
      // be there before it.
      await log.readAll(undefined, 1);
      reads.push(double.calls.read);
      if (reads.length === 4) break;
    }
    // The page, and the call above.
    const [first = 0] = reads;
    expect(reads).toEqual(reads.map((_, page) => first + 2 * page));
  });

  it('follows the leader when another is elected, under appends: nothing acknowledged is lost or shown twice', async () => {
    const cluster = await startEventStoreDbCluster();
    try {
      const log = logs.open(`${cluster.url}&discoveryInterval=20`, {
        pollIntervalMs: 50,
        appendTimeoutMs: 2_000,
      });
      const tail = startTail(log);
      const acknowledged: string[] = [];
      let isOver = false;
      const write = async (stream: string): Promise<void> => {
        for (let revision = -1n; !isOver;) {
          const event = newEvent();
          const result = await persistently(() =>
            appended(log.append(stream, revision < 0n ? 'no-stream' : revision, [event])),
          );
          revision = result.revision;
          acknowledged.push(event.id);
        }
      };
      const writing = Promise.all(['ours-1', 'ours-2', 'ours-3'].map(write));
      await eventually(async () => acknowledged.length > 30);
      const killed = await cluster.killLeader();
      cluster.elect();
      await eventually(async () => acknowledged.length > 60);
      await killed.restart();
      const hung = cluster.hangLeader();
      cluster.elect();
      const reached = acknowledged.length;
      await eventually(async () => acknowledged.length > reached + 30);
      cluster.resume(hung);
      isOver = true;
      await writing;
      await eventually(async () => tail.ids.length === acknowledged.length);
      await tail.stop();
      expect(new Set(tail.ids).size).toBe(tail.ids.length);
      expect([...tail.ids].sort()).toEqual([...acknowledged].sort());
      expect(tail.events.map(({ position }) => position)).toEqual(
        tail.events.map(({ position }) => position).sort((a, b) => log.compare(a, b)),
      );
    } finally {
      await logs.close();
      await cluster.stop();
    }
  });
});

/** The identical call, until it is answered. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof EventLogUnavailable)) throw error;
    }
  }
}

async function firstPage(
  log: EventLog,
  after: Position | undefined,
  pageSize: number,
): Promise<readonly RecordedEvent[]> {
  const ending = new AbortController();
  for await (const page of log.follow(after, { signal: ending.signal, pageSize })) return page;
  throw new Error('the tail ended');
}
