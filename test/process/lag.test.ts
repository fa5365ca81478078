import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { logPages } from '../../src/event-log/event-pages.js';
import { LAG_EVENTS_MAX, lagAfter } from '../../src/event-log/lag.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

/** A log with a writer that appends an event during the read of each page. */
class WrittenDuringReads extends InMemoryEventLog {
  private written = 0;

  async write(events: number): Promise<void> {
    for (let left = events; left > 0; left -= 1) {
      const event = { id: randomUUID(), type: 'Written', data: '{}', metadata: '{}' };
      await this.append(`stream-${this.written++}`, 'no-stream', [event]);
    }
  }

  override async readAll(after: string | undefined, limit: number) {
    const page = await super.readAll(after, limit);
    await this.write(1);
    return page;
  }
}

async function unnumberedLog(events: number): Promise<WrittenDuringReads> {
  const log = new WrittenDuringReads(() => 1_000);
  await log.write(events);
  return log;
}

it('the lag counts the events up to the head that it was given, while others write', async () => {
  const log = await unnumberedLog(3);
  const head = await log.head();
  expect(await lagAfter(log, undefined, head, 6_000)).toEqual({ lagEvents: 3, lagSeconds: 5 });
  expect(log.reads).toBe(1);
});

it('the lag counts up to its limit', async () => {
  const log = await unnumberedLog(LAG_EVENTS_MAX + 5);
  expect((await lagAfter(log, undefined, await log.head(), 1_000)).lagEvents).toBe(LAG_EVENTS_MAX);
});

it('the pages of a log end at the given position, while others write', async () => {
  const log = await unnumberedLog(5);
  const read: (readonly RecordedEvent[])[] = [];
  for await (const page of logPages(log, { after: 'm-1', upTo: 'm-5', limit: 3 })) read.push(page);
  expect(read.map((page) => page.map(({ position }) => position))).toEqual([
    ['m-2', 'm-3', 'm-4'],
    ['m-5'],
  ]);
});
