import {
  EventLogUnavailable,
  type EventLog,
  type Position,
  type RecordedEvent,
} from '../../src/event-log/event-log.js';
import {
  startEventStoreDbCluster,
  type EventStoreDbCluster,
} from '../harness/eventstoredb-double/cluster.js';
import { eventually } from '../support/embedded.js';
import {
  appended,
  collect,
  eachTestOnADouble,
  NEVER_BY_ITSELF,
  newEvent,
  newEvents,
  startTail,
  timed,
  Observed,
} from './support/faulty-event-store.js';

const READS = { methods: ['read' as const] };

const { double, logs } = eachTestOnADouble();

const isKnown = (log: EventLog): Promise<void> =>
  eventually(async () => (await log.check()) !== undefined);

/** The next scan is silent until the function that comes back is called. */
function slowScan(): () => void {
  let release = (): void => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  double.faults.next('too-slow-scan', 1, { until });
  return release;
}

// The contract has the reads of streams and of the whole log.
it.each<[string, boolean, (log: EventLog) => Promise<unknown>]>([
  ['a check on a known connection', true, (log) => log.check()],
  ['the id on a new connection', false, (log) => log.id()],
])('%s ends in time while a node hangs, and works when it is back', async (_, known, ask) => {
  const log = logs.open(double.url, { readTimeoutMs: 200, appendTimeoutMs: 200 });
  if (known) await isKnown(log);
  double.faults.set('hung');
  const { ms, error } = await timed(ask(log));
  expect(error).toEqual(new EventLogUnavailable('EventStoreDB is unavailable or does not answer'));
  expect(ms).toBeLessThan(5_000);
  double.faults.clear('hung');
  await eventually(async () => (await ask(log)) !== undefined);
});

it('a read of a stream that the server ends politely before its end is continued', async () => {
  const events = newEvents(10);
  double.storedBehindTheBack('ours-a', events);
  const log = logs.open(double.url);
  await log.id();
  double.faults.next('stream-ended', 3, READS);
  expect((await collect(log.readStream('ours-a'))).map(({ id }) => id)).toEqual(
    events.map(({ id }) => id),
  );
  expect(double.faults.count('stream-ended')).toBe(3);
});

it('a read of the whole log that the server ends politely is not taken for its end, nor for the head', async () => {
  const events = newEvents(10);
  double.storedBehindTheBack('ours-a', events);
  const log = logs.open(double.url);
  await log.id();
  // The first reads, or every second one: each read of a call is ended once.
  for (const every of [1, 2]) {
    for (const times of [1, 2, 3]) {
      const ended = double.faults.count('stream-ended');
      let reads = 0;
      const when = () => reads++ % every === 0;
      double.faults.next('stream-ended', times, { ...READS, when });
      expect((await log.readAll(undefined, 100)).map(({ id }) => id)).toEqual(
        events.map(({ id }) => id),
      );
      expect(double.faults.count('stream-ended')).toBe(ended + times);
    }
  }
  const last = (await log.readAll(undefined, 100)).at(-1)?.position;
  for (const times of [1, 2, 3]) {
    double.faults.next('stream-ended', times, READS);
    expect(await log.head()).toBe(last);
  }
});

it('a read of the whole log that the server ends politely ends where the store ended when it began, while others write', async () => {
  const log = logs.open(double.url);
  await log.id();
  double.storedBehindTheBack('others', newEvents(3));
  let reads = 0;
  const others = () => {
    reads += 1;
    if (reads < 100) double.storedBehindTheBack('others', newEvents(1));
    return false;
  };
  double.faults.set('stream-ended', { ...READS, when: others });
  expect(await log.readAll(undefined, 1)).toEqual([]);
  expect(reads).toBeLessThan(20);
});

it('a filtered read of a store that others use is waited for while the store answers other calls, however long it is silent', async () => {
  double.storedBehindTheBack('ours-a', newEvents(3));
  const log = logs.open(double.url, { readTimeoutMs: 100 });
  await isKnown(log);
  const release = slowScan();
  const reads = double.calls.read;
  const pending = log.readAll(undefined, 10);
  // Each look whether the store lives is a read, too.
  await eventually(async () => double.calls.read >= reads + 5);
  release();
  expect(await pending).toHaveLength(3);
});

it('a filtered read of a store that others use is given up when the store answers no other call either', async () => {
  const log = logs.open(double.url, { readTimeoutMs: 100 });
  await isKnown(log);
  const release = slowScan();
  const reads = double.calls.read;
  const pending = timed(log.readAll(undefined, 10));
  await eventually(async () => double.calls.read >= reads + 2);
  double.faults.set('hung');
  expect((await pending).error).toBeInstanceOf(EventLogUnavailable);
  release();
});

it('a filtered read of a store that others use does not scan the events of others again for an idle tail or for the head', async () => {
  double.storedBehindTheBack('ours-a', newEvents(1));
  const log = logs.open(double.url, { pollIntervalMs: 10, readTimeoutMs: 5_000 });
  const tail = startTail(log);
  await eventually(async () => tail.ids.length === 1 && double.subscriptions === 1);
  const theirs = Array.from({ length: 5_000 }, () => ({ type: 'Theirs' }));
  double.storedBehindTheBack('theirs', theirs);
  const looked = jest.spyOn(double.store, 'at');
  const reads = double.calls.read;
  await eventually(async () => double.calls.read > reads + 40);
  for (let n = 0; n < 20; n++) expect(await log.head()).toBe(tail.events[0]?.position);
  await tail.stop();
  // The subscription passes over them once, the tail once, the head once; and a look at the end
  // is one event.
  expect(looked.mock.calls.length).toBeLessThan(5 * theirs.length);
  double.storedBehindTheBack('ours-a', newEvents(1));
  expect(await log.head()).not.toBe(tail.events[0]?.position);
});

it('a filtered read of a store that others use returns only the events of its namespace', async () => {
  for (const stream of ['theirs', 'ours', 'our-s', 'x-ours-a', 'X-ours-b'])
    double.storedBehindTheBack(stream, newEvents(2));
  const log = logs.open(double.url, { namespace: 'x-' });
  const other = logs.open(double.url, { namespace: 'xx-' });
  await appended(other.append('ours-a', 'no-stream', [newEvent()]));
  const mine = newEvent();
  await appended(log.append('ours-b', 'no-stream', [mine]));
  expect((await log.readAll(undefined, 100)).map(({ stream, type }) => [stream, type])).toEqual([
    ['ours-a', 'Happened'],
    ['ours-a', 'Happened'],
    ['ours-b', 'Happened'],
  ]);
  expect((await collect(log.readStream('ours-b'))).map(({ id }) => id)).toEqual([mine.id]);
});

describe('a cluster', () => {
  let cluster: EventStoreDbCluster;
  beforeEach(async () => {
    cluster = await startEventStoreDbCluster();
  });
  afterEach(async () => {
    await logs.close();
    await cluster.stop();
  });

  it('with a lagging follower is read at the leader that the follower names', async () => {
    const [follower] = cluster.followers;
    if (follower === undefined) throw new Error('no follower');
    cluster.lag(follower);
    const log = logs.open(follower.url);
    const written = newEvent();
    await appended(log.append('ours-a', 'no-stream', [written]));
    expect((await collect(log.readStream('ours-a'))).map(({ id }) => id)).toEqual([written.id]);
    expect((await log.readAll(undefined, 10)).map(({ id }) => id)).toEqual([written.id]);
    const tail = startTail(log);
    await eventually(
      async () => tail.ids.length === 1 && (cluster.leader?.subscriptions ?? 0) === 1,
    );
    await tail.stop();
    expect(
      follower.requests.filter(
        ({ method, headers }) =>
          method !== 'supportedMethods' && headers['requires-leader'] !== 'true',
      ),
    ).toEqual([]);
  });
});

it('reads that are refused temporarily use another connection in the next call', async () => {
  const log = logs.open(double.url);
  await isKnown(log);
  double.faults.next('not-ready', 1, READS);
  await expect(log.readAll(undefined, 10)).rejects.toThrow(EventLogUnavailable);
  expect(await log.readAll(undefined, 10)).toEqual([]);
  expect(double.calls.supportedMethods).toBe(2);
});

it('a log that is closed while a read hangs ends the read', async () => {
  const log = logs.open(double.url, { ...NEVER_BY_ITSELF, readTimeoutMs: 400 });
  await isKnown(log);
  const release = slowScan();
  const pending = timed(log.readAll(undefined, 10));
  await eventually(async () => double.openReads === 1);
  await log.close();
  expect((await pending).error).toBeInstanceOf(EventLogUnavailable);
  release();
  await eventually(async () => double.openReads === 0);
});

const SUBSCRIBE = { methods: ['subscribe' as const] };

/** As another process would write them. @returns the ids of all that was ever written so. */
const stored: string[] = [];
beforeEach(() => void stored.splice(0));
const storeBehindTheBack = (count: number): void => {
  const events = newEvents(count);
  double.storedBehindTheBack('ours-a', events);
  stored.push(...events.map(({ id }) => id));
};

const isSubscribed = async (): Promise<boolean> => double.subscriptions === 1;

it('a tail that only its subscription wakes, when the subscription is dropped as too slow in a burst, delivers every event once and in order', async () => {
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
])(
  'a tail that only its subscription wakes, when the subscription %s: it is made anew, and what came meanwhile is shown',
  async (_name, strike) => {
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
  },
);

it('a tail that only its subscription wakes, when the subscription misses an append of this process, replaces it', async () => {
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

it('a tail that only its subscription wakes, when the subscription misses appends of others, replaces it after its next poll', async () => {
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

it('a tail that only its subscription wakes, when the subscription is never confirmed, makes another one', async () => {
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
    // A call to the store and back: a page that the tail requested meanwhile would arrive before
    // its answer.
    await log.readAll(undefined, 1);
    reads.push(double.calls.read);
    if (reads.length === 4) break;
  }
  // The page, and the call above.
  const [first = 0] = reads;
  expect(reads).toEqual(reads.map((_, page) => first + 2 * page));
});

it('a tail follows the leader when another is elected, under appends: nothing acknowledged is lost or shown twice', async () => {
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
