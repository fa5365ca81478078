import { Doorbell } from '../../src/event-log/doorbell.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { followPages } from '../../src/event-log/follow-pages.js';

test('a wake-up during a poll of the tail causes another poll', async () => {
  const event: RecordedEvent = {
    id: 'e',
    type: 'T',
    data: '{}',
    metadata: '{}',
    stream: 's',
    revision: 0n,
    position: 'p',
    recordedAt: 0,
  };
  const doorbell = new Doorbell();
  const ending = new AbortController();
  let looks = 0;
  const tail = followPages({
    start: 0n,
    read: (cursor: bigint) => {
      looks += 1;
      // An event was stored after this look began, and its announcement came before the look ended.
      if (looks === 1) doorbell.wakeAll();
      return Promise.resolve(
        looks === 1
          ? { events: [], next: cursor, isFull: false }
          : { events: [event], next: 1n, isFull: false },
      );
    },
    ordinal: (cursor) => cursor,
    doorbell,
    pollIntervalMs: 600_000,
    endings: [ending.signal],
  });
  expect((await tail.next()).value).toEqual([event]);
  expect(looks).toBe(2);
  ending.abort();
  await tail.return();
});
