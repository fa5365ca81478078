import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import {
  startEventStoreDbCluster,
  type EventStoreDbCluster,
} from '../harness/eventstoredb-double/cluster.js';
import type { EventStoreDbDouble } from '../harness/eventstoredb-double/double.js';
import { eventually } from '../support/embedded.js';
import {
  appended,
  collect,
  eachTestOnADouble,
  type LogsOfATest,
  NEVER_BY_ITSELF,
  newEvent,
  newEvents,
  startTail,
  timed,
} from './support/faulty-event-store.js';

const READS = { methods: ['read' as const] };

describe('reads of an EventStoreDB that misbehaves', () => {
  let double: EventStoreDbDouble;
  let logs: LogsOfATest;

  eachTestOnADouble((started, opened) => {
    double = started;
    logs = opened;
  });

  // The contract has the reads of streams and of the whole log.
  it.each<[string, boolean, (log: EventLog) => Promise<unknown>]>([
    ['a check on a known connection', true, (log) => log.check()],
    ['the id on a new connection', false, (log) => log.id()],
  ])('%s ends in time while a node hangs, and works when it is back', async (_, isKnown, ask) => {
    const log = logs.open(double.url, { readTimeoutMs: 200, appendTimeoutMs: 200 });
    if (isKnown) await eventually(async () => (await log.check()) !== undefined);
    double.faults.set('hung');
    const { ms, error } = await timed(ask(log));
    expect(error).toEqual(new EventLogUnavailable('EventStoreDB is away or does not answer'));
    expect(ms).toBeLessThan(5_000);
    double.faults.clear('hung');
    await eventually(async () => (await ask(log)) !== undefined);
  });

  describe('a read that the server ends politely before its end', () => {
    it('of a stream is continued', async () => {
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

    it('of the whole log is not taken for its end, nor for the head', async () => {
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

    it('of the whole log ends where the store ended when it began, while others write', async () => {
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
  });

  describe('a filtered read of a store that others use', () => {
    it('is waited for while the store answers other calls, however long it is silent', async () => {
      double.storedBehindTheBack('ours-a', newEvents(3));
      const log = logs.open(double.url, { readTimeoutMs: 100 });
      await eventually(async () => (await log.check()) !== undefined);
      let release = (): void => undefined;
      const until = new Promise<void>((resolve) => (release = resolve));
      double.faults.next('too-slow-scan', 1, { until });
      const reads = double.calls.read;
      const pending = log.readAll(undefined, 10);
      // Each look whether the store lives is a read, too.
      await eventually(async () => double.calls.read >= reads + 5);
      release();
      expect(await pending).toHaveLength(3);
    });

    it('is given up when the store answers no other call either', async () => {
      const log = logs.open(double.url, { readTimeoutMs: 100 });
      await eventually(async () => (await log.check()) !== undefined);
      let release = (): void => undefined;
      double.faults.next('too-slow-scan', 1, {
        until: new Promise<void>((resolve) => (release = resolve)),
      });
      const reads = double.calls.read;
      const pending = timed(log.readAll(undefined, 10));
      await eventually(async () => double.calls.read >= reads + 2);
      double.faults.set('hung');
      expect((await pending).error).toBeInstanceOf(EventLogUnavailable);
      release();
    });

    it('does not scan the events of others again for an idle tail or for the head', async () => {
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

    it('returns only the events of its namespace', async () => {
      for (const stream of ['theirs', 'ours', 'our-s', 'x-ours-a', 'X-ours-b'])
        double.storedBehindTheBack(stream, newEvents(2));
      const log = logs.open(double.url, { namespace: 'x-' });
      const other = logs.open(double.url, { namespace: 'xx-' });
      await appended(other.append('ours-a', 'no-stream', [newEvent()]));
      const mine = newEvent();
      await appended(log.append('ours-b', 'no-stream', [mine]));
      expect((await log.readAll(undefined, 100)).map(({ stream, type }) => [stream, type])).toEqual(
        [
          ['ours-a', 'Happened'],
          ['ours-a', 'Happened'],
          ['ours-b', 'Happened'],
        ],
      );
      expect((await collect(log.readStream('ours-b'))).map(({ id }) => id)).toEqual([mine.id]);
    });
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
    await eventually(async () => (await log.check()) !== undefined);
    double.faults.next('not-ready', 1, READS);
    await expect(log.readAll(undefined, 10)).rejects.toThrow(EventLogUnavailable);
    expect(await log.readAll(undefined, 10)).toEqual([]);
    expect(double.calls.supportedMethods).toBe(2);
  });

  it('a log that is closed while a read hangs ends the read', async () => {
    const log = logs.open(double.url, { ...NEVER_BY_ITSELF, readTimeoutMs: 400 });
    await eventually(async () => (await log.check()) !== undefined);
    let release = (): void => undefined;
    double.faults.next('too-slow-scan', 1, {
      until: new Promise<void>((resolve) => (release = resolve)),
    });
    const pending = timed(log.readAll(undefined, 10));
    await eventually(async () => double.openReads === 1);
    await log.close();
    expect((await pending).error).toBeInstanceOf(EventLogUnavailable);
    release();
    await eventually(async () => double.openReads === 0);
  });
});
