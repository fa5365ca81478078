import { randomUUID } from 'node:crypto';
import {
  EventLogUnavailable,
  LogWentBack,
  type SeenEvent,
  type StreamEnd,
} from '../../src/event-log/event-log.js';
import { eventually } from '../support/embedded.js';
import { openForEach } from '../support/opened.js';
import { collect, eachTestOnADouble, newEvent } from './support/faulty-event-store.js';

/**
 * A node that comes back without the end of its log: what a process remembers is compared before
 * anything is appended over the new connection.
 */

const { double, logs } = eachTestOnADouble();
const open = () => logs.open(double.url, { prefix: 'referral-', pollIntervalMs: 50 });
const one = openForEach(open);
const other = openForEach(open);

const S = 'referral-account-live.demo.a';

async function twoEvents(): Promise<{ end: StreamEnd; kept: number }> {
  await one.append(S, 'no-stream', [newEvent()]);
  const kept = double.store.size;
  const second = newEvent();
  await one.append(S, 0n, [second]);
  return { end: { revision: 1n, eventId: second.id, epoch: one.epoch }, kept };
}

it('nothing is appended after a lost event, although the stream is as long as before', async () => {
  const { end, kept } = await twoEvents();
  const heard: SeenEvent[] = [];
  const from = one.newestSeen;
  one.onWentBack((newest) => heard.push(newest));
  await double.loseTail(kept);
  const foreign = newEvent();
  expect(await other.append(S, 0n, [foreign])).toMatchObject({ kind: 'appended', revision: 1n });
  expect(await one.append(S, 1n, [newEvent()], end)).toEqual({
    kind: 'conflict',
    expected: 1n,
    actual: 1n,
  });
  expect(heard).toEqual([{ position: from?.position, eventId: from?.eventId }]);
  expect((await collect(other.readStream(S))).map(({ id }) => id).slice(1)).toEqual([foreign.id]);
  await expect(collect(one.readStream(S, { end }))).rejects.toThrow(LogWentBack);
  const [, read] = await collect(one.readStream(S));
  expect(
    await one.append(S, 1n, [newEvent()], {
      revision: 1n,
      eventId: read?.id ?? '',
      epoch: one.epoch,
    }),
  ).toMatchObject({
    kind: 'appended',
    revision: 2n,
  });
});

it('a command that was in flight when the node stopped is not appended to the log with which the node returns', async () => {
  const { end, kept } = await twoEvents();
  await double.kill();
  const underWay = one.append(S, 1n, [newEvent()], end);
  underWay.catch(() => undefined);
  double.store.loseTail(kept);
  double.storedBehindTheBack(S, [{ type: 'Other' }]);
  await double.restart();
  // Sent once already: whether that one was stored, and kept, is unknown.
  await expect(underWay).rejects.toThrow(EventLogUnavailable);
  expect(one.epoch).toBe(1);
  expect(double.store.eventsOf(S).map(({ type }) => type)).toEqual(['Happened', 'Other']);
});

it('connections that break without a loss keep the caches', async () => {
  const { end } = await twoEvents();
  double.cutConnections();
  expect(await one.append(S, 1n, [newEvent()], end)).toMatchObject({
    kind: 'appended',
    revision: 2n,
  });
  expect(one.epoch).toBe(0);
});

it.each([
  ['while the log is shorter than it was', 0],
  ['when it is as long again', 1],
  ['when it is longer again', 5],
])('a tail notices, %s', async (_, filled) => {
  const { kept } = await twoEvents();
  const ending = new AbortController();
  const seen: string[] = [];
  const tail = (async () => {
    for await (const page of one.follow(undefined, { signal: ending.signal }))
      seen.push(...page.map(({ id }) => id));
  })();
  const ended = expect(tail).rejects.toThrow(LogWentBack);
  await eventually(() => seen.length === 2);
  await double.kill();
  double.store.loseTail(kept);
  if (filled > 0)
    double.storedBehindTheBack(
      S,
      Array.from({ length: filled }, () => ({ type: 'Other' })),
    );
  await double.restart();
  await ended;
  expect(one.epoch).toBe(1);
  ending.abort();
});

it('the head is that of the present log', async () => {
  const { kept } = await twoEvents();
  const before = await one.head();
  await double.loseTail(kept);
  await one.checkNewestSeen();
  const head = await one.head();
  expect(one.compare(head, before)).toBeLessThan(0);
  expect(await one.holds({ position: before ?? '', eventId: randomUUID() })).toBe(false);
});
