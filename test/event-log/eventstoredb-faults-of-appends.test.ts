import { InvalidAppend } from '../../src/event-log/append-checks.js';
import { AppendTooLarge, EventLogUnavailable } from '../../src/event-log/event-log.js';
import type { FaultOptions } from '../harness/eventstoredb-double/faults.js';
import { eventually } from '../support/embedded.js';
import {
  appended,
  eachTestOnADouble,
  newEvent,
  newEvents,
  Observed,
  timed,
} from './support/faulty-event-store.js';

const STREAM = 'ours-a';
const APPENDS: FaultOptions = { methods: ['append'] };

const { double, logs } = eachTestOnADouble();

const storedIds = (): string[] => double.store.eventsOf(STREAM).map(({ id }) => id);

it.each<[string, FaultOptions]>([
  ['the answer is lost', { how: 'unavailable' }],
  ['the connection is cut', { how: 'cut' }],
  ['no answer comes', { how: 'silence' }],
])(
  '%s after the write: the identical append goes again, without a read, and gets the first position',
  async (_name, how) => {
    const observed = new Observed();
    const log = logs.open(double.url, { appendTimeoutMs: 1_000, observe: observed });
    const first = newEvents(2);
    await appended(log.append(STREAM, 'no-stream', first));
    const before = double.calls;

    double.faults.next('answer-lost', 1, { ...APPENDS, ...how });
    const events = newEvents(3);
    const pending = appended(log.append(STREAM, 1n, events));
    // Another writer is faster than the repetition.
    await eventually(async () => storedIds().length === 5);
    double.storedBehindTheBack(STREAM, [newEvent()]);

    const result = await pending;
    const stored = double.store.eventsOf(STREAM);
    expect(stored.slice(0, 5).map(({ id }) => id)).toEqual(
      [...first, ...events].map(({ id }) => id),
    );
    expect(stored).toHaveLength(6);
    expect(result.revision).toBe(4n);
    expect(result.position).toMatch(new RegExp(`-${stored[4]?.position}-${stored[4]?.position}$`));
    expect(double.calls.append).toBe(before.append + 2);
    expect(
      double.requests.filter(({ method, stream }) => method === 'read' && stream === STREAM),
    ).toEqual([]);
    expect([observed.unknownOutcomes, observed.retries, observed.outcomes]).toEqual([
      1,
      1,
      ['appended', 'appended'],
    ]);
  },
);

it('every append is a call of its own, to the leader', async () => {
  const log = logs.open(double.url);
  await eventually(async () => (await log.check()) !== undefined);
  const appends = double.calls.append;
  expect(
    await Promise.all(
      ['ours-a', 'ours-b'].map((stream) => log.append(stream, 'no-stream', [newEvent()])),
    ),
  ).toMatchObject([{ kind: 'appended' }, { kind: 'appended' }]);
  expect(double.calls.append - appends).toBe(2);
  const sent = double.requests.filter(({ method }) => method === 'append');
  expect(sent.filter(({ headers }) => headers['requires-leader'] !== 'true')).toEqual([]);
});

it('a store that is not ready is retried until it is', async () => {
  const log = logs.open(double.url, { appendTimeoutMs: 5_000 });
  await eventually(async () => (await log.check()) !== undefined);
  double.faults.set('not-ready', APPENDS);
  const pending = log.append(STREAM, 'no-stream', [newEvent()]);
  await eventually(async () => double.faults.count('not-ready') >= 2);
  double.faults.clear('not-ready');
  expect(await pending).toMatchObject({ kind: 'appended', revision: 0n });
});

it('more appends than may wait are refused immediately', async () => {
  const log = logs.open(double.url, { appendTimeoutMs: 300, waitingAppendsMax: 5 });
  double.faults.set('hung');
  const waiting = Array.from({ length: 5 }, (_, n) =>
    timed(log.append(`ours-${n}`, 'no-stream', [newEvent()])),
  );
  const refused = await timed(log.append('ours-x', 'no-stream', [newEvent()]));
  expect(refused.error).toEqual(new EventLogUnavailable('5 appends are waiting already'));
  for (const { error, ms } of await Promise.all(waiting)) {
    expect(refused.ms).toBeLessThan(ms);
    // Its last try may end before its time does, or with it: the words differ.
    expect(error).toBeInstanceOf(EventLogUnavailable);
    expect(ms).toBeLessThan(5_000);
  }
  double.faults.clear('hung');
  const again = newEvent();
  await eventually(
    async () => (await log.append(STREAM, 'no-stream', [again])).kind === 'appended',
  );
});

it.each([
  ['hangs', 500, async (): Promise<void> => double.faults.set('hung')],
  // What waits for its next try is not kept waiting.
  ['is gone', 10_000, (): Promise<void> => double.kill()],
])(
  'close() answers waiting appends and ends, although the store %s',
  async (_name, appendTimeoutMs, strike) => {
    const log = logs.open(double.url, { appendTimeoutMs });
    await eventually(async () => (await log.check()) !== undefined);
    await strike();
    const pending = timed(log.append(STREAM, 'no-stream', [newEvent()]));
    const closing = await timed(log.close());
    expect(closing.error).toBeUndefined();
    expect(closing.ms).toBeLessThan(3_000);
    expect((await pending).error).toBeInstanceOf(EventLogUnavailable);
    await expect(log.append(STREAM, 'no-stream', [newEvent()])).rejects.toThrow(
      'the event log is closed',
    );
  },
);

it('an impossible append is refused for a stream that this log would not read', async () => {
  const log = logs.open(double.url);
  await expect(log.append('theirs', 'no-stream', [newEvent()])).rejects.toThrow(InvalidAppend);
  expect(Object.values(double.calls).every((count) => count === 0)).toBe(true);
});

it('an append over a smaller limit of the store is refused as too large', async () => {
  const log = logs.open(double.url);
  await eventually(async () => (await log.check()) !== undefined);
  double.faults.next('append-too-large', 1, APPENDS);
  const event = newEvent('x'.repeat(100));
  await expect(log.append(STREAM, 'no-stream', [event])).rejects.toThrow(new AppendTooLarge(102));
  expect(
    double.requests.filter(({ method, stream }) => method === 'append' && stream === STREAM),
  ).toHaveLength(1);
});

it('hundreds of failed calls leave neither connections nor listeners', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  const log = logs.open(double.url, { appendTimeoutMs: 400 });
  await eventually(async () => (await log.check()) !== undefined);
  const before = double.connections;
  expect(before).toBeGreaterThan(0);
  try {
    double.faults.set('not-ready', {
      when: ({ stream }) => stream?.startsWith('ours-even') ?? true,
    });
    double.faults.next('hung', Infinity, {
      ...APPENDS,
      when: ({ stream }) => stream?.startsWith('ours-odd') ?? true,
    });
    for (let round = 0; round < 4; round++) {
      const kind = round % 2 === 0 ? 'even' : 'odd';
      const calls = Array.from({ length: 100 }, (_, n) =>
        log.append(`ours-${kind}-${n}`, 'no-stream', [newEvent()]),
      );
      const failed = (await Promise.allSettled(calls)).filter(
        ({ status }) => status === 'rejected',
      );
      expect(failed).toHaveLength(100);
    }
    double.faults.clear();
    const again = newEvent();
    await eventually(
      async () => (await log.append(STREAM, 'no-stream', [again])).kind === 'appended',
    );
    // New connections came; how many depends on the machine.
    expect(double.calls.supportedMethods).toBeGreaterThan(1);
    await eventually(async () => double.connections <= before);
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});
