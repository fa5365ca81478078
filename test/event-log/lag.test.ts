import type { EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { lagAfter } from '../../src/event-log/lag.js';

const logOf = (times: readonly number[]) =>
  ({
    compare: (a?: string, b?: string) => Number(a ?? 0) - Number(b ?? 0),
    readAll: (after: string | undefined, limit: number) =>
      Promise.resolve(
        times
          .map((recordedAt, index) => ({ recordedAt, position: String(index + 1) }))
          .slice(Number(after ?? 0), Number(after ?? 0) + limit) as Partial<RecordedEvent>[],
      ),
  }) as Partial<EventLog> as EventLog;

it('an event ahead of the clock does not hide older ones after it', async () => {
  const log = logOf([90_000, 2_000, 3_000]);
  expect(await lagAfter(log, undefined, '3', 5_000)).toEqual({ lagEvents: 3, lagSeconds: 3 });
});
