import { randomUUID } from 'node:crypto';
import { InvalidAppend } from '../../src/event-log/append-checks.js';
import {
  APPEND_BYTES_MAX,
  appendBytes,
  AppendTooLarge,
  EventLogUnavailable,
  type AppendResult,
  type EventLog,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  type RecordedEvent,
  type StreamEnd,
} from '../../src/event-log/event-log.js';
import { LogAheadOfClock } from '../../src/event-log/clock.js';
import { clockMovedBy, DAY_MS } from '../support/clock-of-process.js';
import { eventually } from '../support/embedded.js';
import { pollPause } from '../support/poll-pause.js';

export interface OpenOptions {
  readonly appendTimeoutMs?: number;
  readonly readTimeoutMs?: number;
  readonly pollIntervalMs?: number;
  readonly acceptsClock?: boolean;
}

/** A log that only this test uses, and what a test may do to it. */
export interface LogUnderTest {
  /** Another instance of the adapter on the same log, as another process would have it. */
  open(options?: OpenOptions): Promise<EventLog>;
  /** All connections break; new ones work immediately. */
  cut(): void;
  /** The server stops answering, on open and on new connections, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Where positions are counted without gaps: the number of one. */
  readonly ordinal?: (position: Position) => bigint;
  /** A writer of another process with an appended event that is not committed, where possible. */
  readonly appendHeldOpen?: (
    stream: string,
  ) => Promise<{ commit(): Promise<void>; untilSomebodyWaits(): Promise<void> }>;
  dispose(): Promise<void>;
}

/** What a log cannot do, with the reason: its tests are skipped. */
export interface NotPossible {
  readonly appendHeldOpen?: string;
}

const tailOf = (log: EventLog, { signal }: AbortController) =>
  log.follow(undefined, { signal })[Symbol.asyncIterator]();

export function eventLogContract(
  name: string,
  makeLog: () => Promise<LogUnderTest>,
  notPossible: NotPossible = {},
): void {
  /** A test that needs something which not every log can be brought to. */
  const itWith = (ability: keyof NotPossible, title: string, run: () => Promise<void>): void => {
    const reason = notPossible[ability];
    if (reason === undefined) it(title, run);
    else it.skip(`${title} (${reason})`, run);
  };

  describe(`event log: ${name}`, () => {
    let subject: LogUnderTest;
    let log: EventLog;

    beforeEach(async () => {
      subject = await makeLog();
      log = await subject.open();
    });
    afterEach(() => subject.dispose());

    it('returns the stored bytes', async () => {
      const texts = [
        '{"plain":"text"}',
        ' { "spacing" :\t1.0e2 ,\r\n "order": {"b":1,"a":2} } ',
        '{"dup":1,"dup":2,"big":123456789012345678901234567890}',
        JSON.stringify({ name: 'Zoë Łukasz 山田 😀 e\u0301 \u2028 \ufeff', quote: '"\\{},\'' }),
        JSON.stringify({ loneHigh: 'x\ud800', loneLow: '\udc00x', nul: '\u0000' }),
        '{"escaped":"\\u00fc\\ud83d\\ude00"}',
        '{}',
      ];
      const events = texts.map((text) => ({
        id: randomUUID(),
        type: 'Ärger.Begun',
        data: text,
        metadata: text,
      }));
      const appended = stored(await log.append('account-ü 1', 'no-stream', events));

      const expected = events.map((event, revision) => ({
        ...event,
        stream: 'account-ü 1',
        revision: BigInt(revision),
        position: expect.any(String),
        recordedAt: expect.any(Number),
      }));
      const inStream = await collect(log.readStream('account-ü 1'));
      expect(inStream).toEqual(expected);
      expect(await log.readAll(undefined, 100)).toEqual(inStream);
      expect(appended).toEqual({
        kind: 'appended',
        revision: BigInt(texts.length - 1),
        position: inStream.at(-1)?.position,
      });
    });

    describe('while the newest event is more than 5 minutes ahead of the clock', () => {
      let leave: () => void = () => undefined;
      beforeEach(async () => {
        await log.append('s', 'no-stream', [event()]);
        leave = clockMovedBy(-40 * DAY_MS);
      });
      afterEach(() => leave());

      it('reads, and refuses appends until the clocks agree', async () => {
        const started = await subject.open();
        for (const process of [log, started]) {
          await expect(process.append('s', 0n, [event()])).rejects.toThrow(LogAheadOfClock);
          expect(await collect(process.readStream('s'))).toHaveLength(1);
        }
        leave();
        expect(await log.append('s', 0n, [event()])).toMatchObject({ kind: 'appended' });
      });

      it('says the time of the newest event', async () => {
        const { recordedAt = 0 } = await log.check();
        expect(recordedAt).toBeGreaterThan(Date.now() - DAY_MS);
      });

      it('appends for an operator who has accepted it', async () => {
        const accepting = await subject.open({ acceptsClock: true });
        expect(await accepting.append('s', 0n, [event()])).toMatchObject({ kind: 'appended' });
      });
    });

    it('numbers revisions within the stream and orders positions over all streams', async () => {
      const before = Date.now();
      const results: Stored[] = [];
      for (let revision = 0; revision < 5; revision++) {
        for (const stream of ['a', 'b'])
          results.push(stored(await log.append(stream, at(revision), [event()])));
      }
      expect(results.map(({ revision }) => Number(revision))).toEqual([
        0, 0, 1, 1, 2, 2, 3, 3, 4, 4,
      ]);
      const all = await log.readAll(undefined, 100);
      expect(all.map(({ position }) => position)).toEqual(results.map(({ position }) => position));
      expectInOrder(all);
      expect(all.map(({ stream }) => stream).join('')).toBe('ababababab');
      expect(await log.head()).toBe(all.at(-1)?.position);
      for (const { recordedAt } of all) {
        expect(recordedAt).toBeGreaterThanOrEqual(before - 1_000);
        expect(recordedAt).toBeLessThanOrEqual(Date.now() + 1_000);
      }
    });

    it('reads a stream from a revision on, all of it or a few events, over more than one page', async () => {
      const events = Array.from({ length: 2_345 }, () => event());
      for (let from = 0; from < events.length; from += 500)
        stored(await log.append('long', at(from), events.slice(from, from + 500)));
      await log.append('other', 'no-stream', [event()]);
      expect((await collect(log.readStream('long'))).map(({ id }) => id)).toEqual(
        events.map(({ id }) => id),
      );
      const read = async (options: { from?: bigint; end?: StreamEnd; limit?: number }) =>
        (await collect(log.readStream('long', options))).map(({ revision }) => Number(revision));
      expect(await read({ from: 2_342n })).toEqual([2_342, 2_343, 2_344]);
      expect(await read({ from: 2_345n })).toEqual([]);
      expect(await read({ limit: 1 })).toEqual([0]);
      expect(await read({ from: 7n, limit: 3 })).toEqual([7, 8, 9]);
      expect(await read({ from: 2_344n, limit: 3 })).toEqual([2_344]);
      const end = { revision: 4n, eventId: events[4]?.id ?? '', epoch: log.epoch };
      expect(await read({ end, limit: 2 })).toEqual([5, 6]);
      expect(await read({ from: 100n, limit: 1_100 })).toEqual(
        Array.from({ length: 1_100 }, (_, index) => 100 + index),
      );
    });

    it('reads the whole log in pages that join without a seam', async () => {
      for (let n = 0; n < 7; n++)
        await log.append(`s${n}`, 'no-stream', [event(), event(), event()]);
      const pages = await pagesOf(log, 4);
      expect(pages.map(({ length }) => length)).toEqual([4, 4, 4, 4, 4, 1]);
      expect(pages.flat()).toEqual(await log.readAll(undefined, 100));
    });

    it('ends a page after the bytes of large events, and reads all of them', async () => {
      const large = () => event({ data: `"${'x'.repeat(700 * 1024)}"` });
      const ids: string[] = [];
      for (let n = 0; n < 8; n++) {
        const one = large();
        ids.push(one.id);
        await log.append('large', at(n), [one]);
      }
      const pages = await pagesOf(log, 100);
      for (const { length } of pages) expect(length).toBeLessThanOrEqual(3);
      expect(pages.flat().map(({ id }) => id)).toEqual(ids);
      expect((await collect(log.readStream('large'))).map(({ id }) => id)).toEqual(ids);
      const ending = new AbortController();
      const seen: string[] = [];
      for await (const page of log.follow(undefined, { signal: ending.signal })) {
        expect(page.length).toBeLessThanOrEqual(3);
        seen.push(...page.map(({ id }) => id));
        if (seen.length === ids.length) ending.abort();
      }
      expect(seen).toEqual(ids);
    });

    it('is empty in the beginning', async () => {
      expect(await log.head()).toBeUndefined();
      expect(await log.readAll(undefined, 10)).toEqual([]);
      expect(await collect(log.readStream('missing'))).toEqual([]);
      expect(log.compare(undefined, undefined)).toBe(0);
    });

    it('refuses an append at another revision and returns the current one', async () => {
      await log.append('s', 'no-stream', [event(), event(), event()]);
      for (const expected of ['no-stream', 1n, 3n] as const)
        expect(await log.append('s', expected, [event()])).toEqual(conflict(expected, 2n));
      expect(await log.append('s', 3n, [event(), event()])).toEqual(conflict(3n, 2n));
      expect(await log.append('none', 0n, [event()])).toEqual(conflict(0n, 'no-stream'));
      expect(await log.readAll(undefined, 10)).toHaveLength(3);
    });

    it('lets one of many at the same revision through', async () => {
      for (const expected of ['no-stream', 0n, 1n] as const) {
        const results = await Promise.all(
          Array.from({ length: 20 }, () => log.append('s', expected, [event()])),
        );
        const actual = expected === 'no-stream' ? 0n : expected + 1n;
        expect(results.filter(({ kind }) => kind === 'appended')).toHaveLength(1);
        for (const result of results)
          if (result.kind === 'conflict') expect(result).toEqual(conflict(expected, actual));
      }
      expect(await collect(log.readStream('s'))).toHaveLength(3);
    });

    it('keeps a stream in order when its appends arrive at the same time', async () => {
      const results = await Promise.all(
        [0, 1, 2, 3].map((revision) => log.append('s', at(revision), [event()])),
      );
      const accepted = results.filter(({ kind }) => kind === 'appended');
      expect(accepted.length).toBeGreaterThanOrEqual(1);
      expect(await collect(log.readStream('s'))).toHaveLength(accepted.length);
      expectWhole(subject, await log.readAll(undefined, 10));
    });

    it('the same append again gets the first answer also after other writes', async () => {
      const opening = [event()];
      const more = [event(), event()];
      const first = stored(await log.append('s', 'no-stream', opening));
      const second = stored(await log.append('s', 0n, more));
      await log.append('s', 2n, [event(), event()]);
      await log.append('elsewhere', 'no-stream', [event()]);
      const other = await subject.open();
      expect(await other.append('s', 'no-stream', opening)).toEqual(first);
      expect(await other.append('s', 0n, more)).toEqual(second);
      expect(await log.readAll(undefined, 10)).toHaveLength(6);
    });

    it('the same append again is stored once when both arrive at the same time', async () => {
      const events = [event(), event()];
      const results = await Promise.all(
        Array.from({ length: 10 }, () => log.append('s', 'no-stream', events)),
      );
      expect(results[0]).toMatchObject({ kind: 'appended', revision: 1n });
      for (const result of results) expect(result).toEqual(results[0]);
      expect(await collect(log.readStream('s'))).toHaveLength(2);
    });

    it('the same append again is recognised by its ids in their order, all of them and no others', async () => {
      const before = event();
      const [a, b, c] = [event(), event(), event()];
      await log.append('s', 'no-stream', [before]);
      await log.append('s', 0n, [a, b, c]);
      const variants = [
        [b, a, c],
        [c, b, a],
        [b, c],
        [b],
        [a, b, event()],
        [a, b, c, event()],
        [event(), b, c],
      ];
      for (const variant of variants)
        expect(await log.append('s', 0n, variant)).toEqual(conflict(0n, 3n));
      await log.append('s', 3n, [event()]);
      expect(await log.append('s', 0n, [b, c])).toEqual(conflict(0n, 4n));
      expect(await log.append('s', 0n, [a, b, c])).toMatchObject({
        kind: 'appended',
        revision: 3n,
      });
      expect(await collect(log.readStream('s'))).toHaveLength(5);
    });

    it('the same append again writes nothing for a part of the stored append, whether refused or answered as a repetition', async () => {
      const [a, b, c, d] = [event(), event(), event(), event()];
      await log.append('s', 'no-stream', [a]);
      await log.append('s', 0n, [b, c, d]);
      const all = await collect(log.readStream('s'));
      const parts: [ExpectedRevision, NewEvent[]][] = [
        [0n, [b]],
        [0n, [b, c]],
        [1n, [c, d]],
        ['no-stream', [a, b, c, d]],
      ];
      for (const [expected, part] of parts) {
        const result = await log.append('s', expected, part);
        const last = all.find(({ id }) => id === part.at(-1)?.id);
        if (result.kind === 'appended')
          expect(result).toEqual({
            kind: 'appended',
            revision: last?.revision,
            position: last?.position,
          });
        else expect(result).toEqual(conflict(expected, 3n));
      }
      expect(await collect(log.readStream('s'))).toEqual(all);
    });

    const origin = { position: 'f453a00f-43', recordedAt: 1_600_000_000_000 };

    it('an event that another log recorded first is returned with its position and time there, and with its recorded bytes', async () => {
      const events = ['{"v":1}', '{}', ' {"v":1} ', '{"dup":1,"dup":2}'].map((metadata) =>
        event({ metadata }),
      );
      await log.append('s', 'no-stream', [...events.map((each) => ({ ...each, origin })), event()]);
      const found = await collect(log.readStream('s'));
      expect(found.slice(0, -1).map(({ metadata }) => metadata)).toEqual(
        events.map(({ metadata }) => metadata),
      );
      // Metadata that is no object to its last byte has no room for it.
      const isKept = [true, true, false, true, false];
      expect(found.map((each) => each.origin)).toEqual(
        isKept.map((kept) => (kept ? origin : undefined)),
      );
      expect(found.map(({ recordedAt }) => recordedAt === origin.recordedAt)).toEqual(isKept);
      expect(await log.readAll(undefined, 10)).toEqual(found);
    });

    it('an event that another log recorded first is stored at the largest size of an append, and in as many events as one append of a copy has', async () => {
      const many = Array.from({ length: 500 }, () => event({ data: '{}', metadata: '{"v":1}' }));
      const rest = APPEND_BYTES_MAX - appendBytes(many) - 9;
      const events = [
        ...many.slice(1),
        event({ data: `"${'x'.repeat(rest + 7)}"`, metadata: '{"v":1}' }),
      ];
      const long = { ...origin, position: `f453a00f-${'9'.repeat(20)}-${'9'.repeat(20)}` };
      const appended = await log.append(
        's',
        'no-stream',
        events.map((each) => ({ ...each, origin: long })),
      );
      expect(appended).toMatchObject({ kind: 'appended', revision: 499n });
      const found = await collect(log.readStream('s'));
      expect(found.map(({ data, metadata }) => ({ data, metadata }))).toEqual(
        events.map(({ data, metadata }) => ({ data, metadata })),
      );
      expect(appendBytes(events)).toBeGreaterThan(APPEND_BYTES_MAX - 20);
    });

    it('an append that cannot be stored is over the limit, counted in bytes; one at the limit is stored', async () => {
      const filled = (bytes: number): NewEvent =>
        event({ data: `"${'ü'.repeat(10)}${'x'.repeat(bytes - 22)}"`, metadata: '' });
      const half = APPEND_BYTES_MAX / 2;
      await expect(log.append('s', 'no-stream', [filled(half), filled(half + 1)])).rejects.toThrow(
        AppendTooLarge,
      );
      await expect(
        log.append('s', 'no-stream', [
          event({ data: '{}', metadata: 'x'.repeat(APPEND_BYTES_MAX) }),
        ]),
      ).rejects.toThrow(AppendTooLarge);
      expect(await log.head()).toBeUndefined();
      const events = [filled(half), filled(half)];
      expect(await log.append('s', 'no-stream', events)).toMatchObject({
        kind: 'appended',
        revision: 1n,
      });
      expect((await collect(log.readStream('s'))).map(({ data }) => data)).toEqual(
        events.map(({ data }) => data),
      );
    });

    it('an append that cannot be stored is refused before anything is sent, and its neighbours are stored', async () => {
      const twice = event();
      const wrong: [string, ExpectedRevision, NewEvent[]][] = [
        ['', 'no-stream', [event()]],
        ['nul\0', 'no-stream', [event()]],
        ['lone\ud800', 'no-stream', [event()]],
        ['s', -1n, [event()]],
        ['s', 'no-stream', []],
        ['s', 'no-stream', [event({ id: 'no-uuid' })]],
        ['s', 'no-stream', [event({ type: '' })]],
        ['s', 'no-stream', [event({ data: 'nul\0' })]],
        ['s', 'no-stream', [event({ metadata: 'lone\udc00' })]],
        ['s', 'no-stream', [twice, event(), { ...twice, id: twice.id.toUpperCase() }]],
      ];
      const results = await Promise.allSettled(
        wrong.map(([stream, expected, events]) => log.append(stream, expected, events)),
      );
      for (const result of results)
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(InvalidAppend) });
      expect(await log.head()).toBeUndefined();
    });

    it('stores hundreds of appends, each once', async () => {
      const patient = await subject.open({ appendTimeoutMs: 40_000 });
      const results = await Promise.all(
        Array.from({ length: 300 }, (_, n) => patient.append(`s${n}`, 'no-stream', [event()])),
      );
      expect(new Set(results.map((result) => stored(result).position)).size).toBe(300);
      const all = await readToEnd(log);
      expect(all).toHaveLength(300);
      expectWhole(subject, all);
      const byStream = new Map(all.map(({ stream, position }) => [stream, position]));
      results.forEach((result, n) => expect(byStream.get(`s${n}`)).toBe(stored(result).position));
    }, 60_000);

    it('lets two writers share the log, on the same streams and on their own', async () => {
      const writers = [log, await subject.open()];
      const appended: string[] = [];
      const conflicts = { count: 0 };
      const append = async (writer: EventLog, stream: string): Promise<void> => {
        const events = [event(), event()];
        for (let expected: ExpectedRevision = 'no-stream'; ;) {
          const result: AppendResult = await writer.append(stream, expected, events);
          if (result.kind === 'appended') break;
          conflicts.count += 1;
          expected = result.actual;
        }
        appended.push(...events.map(({ id }) => id));
      };
      await Promise.all(
        writers.flatMap((writer, index) => [
          ...Array.from({ length: 6 }, async (_, caller) => {
            for (let n = 0; n < 6; n++) await append(writer, `contended${(n + caller) % 3}`);
          }),
          ...Array.from({ length: 6 }, async (_, caller) => {
            for (let n = 0; n < 6; n++) await append(writer, `own${index}-${caller}`);
          }),
        ]),
      );
      const all = await readToEnd(log);
      expect(all).toHaveLength(2 * 2 * 6 * 6 * 2);
      expect(new Set(all.map(({ id }) => id))).toEqual(new Set(appended));
      expect(conflicts.count).toBeGreaterThan(0);
      expectWhole(subject, all);
    }, 60_000);

    it('stores every append once while connections break again and again', async () => {
      const ids: string[] = [];
      const total = 8 * 20 * 2;
      const breaking = (async () => {
        for (let count = 40; count < total; count += 60) {
          await eventually(async () => ids.length >= count);
          subject.cut();
        }
      })();
      await Promise.all([
        breaking,
        ...Array.from({ length: 8 }, async (_, caller) => {
          for (let n = 0; n < 20; n++) {
            const events = [event(), event()];
            const result = await untilAnswered(() => log.append(`s${caller}`, at(n * 2), events));
            expect(stored(result).revision).toBe(BigInt(n * 2 + 1));
            ids.push(...events.map(({ id }) => id));
          }
        }),
      ]);
      const all = await untilAnswered(() => readToEnd(log));
      expect(all).toHaveLength(total);
      expect(new Set(all.map(({ id }) => id))).toEqual(new Set(ids));
      expectWhole(subject, all);
    }, 60_000);

    it('answers within its time while the server hangs, and continues when it is back', async () => {
      const hasty = await subject.open({ appendTimeoutMs: 400, readTimeoutMs: 400 });
      const before = [event()];
      await untilAnswered(() => hasty.append('before', 'no-stream', before));
      await untilAnswered(() => hasty.readAll(undefined, 1));
      subject.freeze();
      const appends = Array.from({ length: 20 }, (_, n) => ({
        stream: `s${n}`,
        events: [event(), event()],
      }));
      const startedAt = performance.now();
      const outcomes = await Promise.allSettled([
        ...appends.map(({ stream, events }) => hasty.append(stream, 'no-stream', events)),
        hasty.readAll(undefined, 1),
        hasty.head(),
        collect(hasty.readStream('before')),
      ]);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({
          status: 'rejected',
          reason: expect.any(EventLogUnavailable),
        });
      await expect(hasty.append('later', 'no-stream', [event()])).rejects.toThrow(
        EventLogUnavailable,
      );

      subject.thaw();
      for (const { stream, events } of appends) {
        expect(await untilAnswered(() => hasty.append(stream, 'no-stream', events))).toMatchObject({
          kind: 'appended',
          revision: 1n,
        });
      }
      const ids = (await readToEnd(log)).map(({ id }) => id);
      for (const { events } of appends)
        for (const { id } of events) expect(ids.filter((other) => other === id)).toHaveLength(1);
    }, 60_000);

    it('a tail delivers every event once and in order while several write, also when connections break', async () => {
      const other = await subject.open();
      const seen: RecordedEvent[] = [];
      const ending = new AbortController();
      const following = (async () => {
        for await (const page of log.follow(undefined, { signal: ending.signal, pageSize: 50 })) {
          expect(page.length).toBeGreaterThan(0);
          expect(page.length).toBeLessThanOrEqual(50);
          seen.push(...page);
        }
      })();
      const total = 2 * 4 * 40;
      let cuts = 0;
      await Promise.all([
        ...[log, other].flatMap((writer, index) =>
          Array.from({ length: 4 }, async (_, caller) => {
            for (let n = 0; n < 40; n++) {
              const events = [event()];
              await untilAnswered(() => writer.append(`s${index}-${caller}`, at(n), events));
            }
          }),
        ),
        (async () => {
          for (const count of [50, 150, 250]) {
            await eventually(async () => seen.length >= count);
            subject.cut();
            cuts += 1;
          }
        })(),
      ]);
      await eventually(async () => seen.length >= total);
      ending.abort();
      await following;
      expect(cuts).toBe(3);
      // The last break may hit this read.
      expect(seen).toEqual(await untilAnswered(() => readToEnd(log)));
      expectWhole(subject, seen);
    }, 60_000);

    it('a tail is woken by appends of its own and of other processes, without polling', async () => {
      const lazy = await subject.open({ pollIntervalMs: 600_000 });
      const ending = new AbortController();
      const pages = tailOf(lazy, ending);
      for (const [n, writer] of [lazy, log, lazy, log, log].entries()) {
        const next = pages.next();
        const result = stored(await writer.append('s', at(n), [event()]));
        expect((await next).value).toEqual([
          expect.objectContaining({ position: result.position }),
        ]);
      }
      const next = pages.next();
      ending.abort();
      expect(await next).toEqual({ done: true, value: undefined });
    });

    it('a tail continues after a position', async () => {
      for (let n = 0; n < 6; n++) await log.append('s', at(n), [event()]);
      const all = await log.readAll(undefined, 10);
      const ending = new AbortController();
      const seen: RecordedEvent[] = [];
      for await (const page of log.follow(all[2]?.position, {
        signal: ending.signal,
        pageSize: 2,
      })) {
        seen.push(...page);
        if (seen.length === 3) ending.abort();
      }
      expect(seen).toEqual(all.slice(3));
    });

    it('a tail ends immediately when aborted: before it began, while it waits, and while the server hangs', async () => {
      const aborted = new AbortController();
      aborted.abort();
      expect(await collect(log.follow(undefined, { signal: aborted.signal }))).toEqual([]);

      const waiting = new AbortController();
      const quiet = tailOf(log, waiting).next();
      waiting.abort();
      expect(await quiet).toEqual({ done: true, value: undefined });

      subject.freeze();
      const hanging = new AbortController();
      const stuck = tailOf(log, hanging).next();
      const startedAt = performance.now();
      hanging.abort();
      expect(await stuck).toEqual({ done: true, value: undefined });
      expect(performance.now() - startedAt).toBeLessThan(3_000);
      subject.thaw();
    });

    itWith(
      'appendHeldOpen',
      'a tail never hands on an event before one that another writer holds uncommitted',
      async () => {
        const first = stored(await log.append('first', 'no-stream', [event()]));
        if (subject.appendHeldOpen === undefined) throw new Error('this log holds no append open');
        const late = await subject.appendHeldOpen('late');
        const ending = new AbortController();
        const seen: RecordedEvent[] = [];
        const other = await subject.open({ pollIntervalMs: 10 });
        const following = (async () => {
          for await (const page of other.follow(undefined, { signal: ending.signal }))
            seen.push(...page);
        })();
        const behind = Promise.all(
          [1, 2, 3].map((n) => log.append(`behind${n}`, 'no-stream', [event()])),
        );
        await late.untilSomebodyWaits();
        await eventually(async () => seen.length === 1);
        // As often as a reader would look while that writer takes its time.
        for (let look = 0; look < 100; look++) {
          expect(await other.readAll(first.position, 10)).toEqual([]);
          expect(await other.head()).toBe(first.position);
        }
        await late.commit();
        await behind;
        await eventually(async () => seen.length >= 5);
        ending.abort();
        await following;
        expect(seen.map(({ stream }) => stream).slice(0, 2)).toEqual(['first', 'late']);
        expect(seen).toEqual(await log.readAll(undefined, 10));
        expectWhole(subject, seen);
      },
    );

    it('positions compare in the order of their events; none is before all', async () => {
      for (let n = 0; n < 12; n++) await log.append('s', at(n), [event()]);
      const positions = (await log.readAll(undefined, 20)).map(({ position }) => position);
      positions.forEach((a, i) => {
        expect(log.isPosition(a)).toBe(true);
        expect(log.compare(undefined, a)).toBeLessThan(0);
        expect(log.compare(a, undefined)).toBeGreaterThan(0);
        positions.forEach((b, j) => expect(Math.sign(log.compare(a, b))).toBe(Math.sign(i - j)));
      });
    });

    it('positions show about which part of a range is before them', async () => {
      for (let n = 0; n < 12; n++) await log.append('s', at(n), [event()]);
      const positions = (await log.readAll(undefined, 20)).map(({ position }) => position);
      const places = positions.map((position) => Number(log.order(position)));
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
      expect(places[0]).toBeLessThan(places.at(-1) ?? 0);
    });

    it('positions of another log, and malformed ones, are refused', async () => {
      const another = await makeLog();
      try {
        const elsewhere = await another.open();
        const foreign = stored(await elsewhere.append('s', 'no-stream', [event()])).position;
        await log.append('s', 'no-stream', [event()]);
        const own = (await log.head()) ?? '';
        for (const token of [
          foreign,
          '',
          '0',
          '1',
          'x',
          `${own}x`,
          ` ${own}`,
          `${own}\n`,
          `${own}${'9'.repeat(30)}`,
          own.replace('-', '-0'),
        ]) {
          expect([token, log.isPosition(token)]).toEqual([token, false]);
        }
        await expect(log.readAll(foreign, 10)).rejects.toThrow(TypeError);
        const tail = log
          .follow(foreign, { signal: new AbortController().signal })
          [Symbol.asyncIterator]();
        await expect(tail.next()).rejects.toThrow(TypeError);
      } finally {
        await another.dispose();
      }
    });

    it('close answers waiting calls, ends the tails, and refuses further calls', async () => {
      const tail = log
        .follow(undefined, { signal: new AbortController().signal })
        [Symbol.asyncIterator]();
      const waiting = tail.next();
      const appends = Array.from({ length: 10 }, (_, n) =>
        log.append(`s${n}`, 'no-stream', [event()]),
      );
      await log.close();
      for (const append of appends) expect(await append).toMatchObject({ kind: 'appended' });
      await waiting;
      for (let next = await tail.next(); next.done !== true;) next = await tail.next();
      await expect(log.append('s', 'no-stream', [event()])).rejects.toThrow(EventLogUnavailable);
      await expect(log.readAll(undefined, 1)).rejects.toThrow(EventLogUnavailable);
      await log.close();
      expect(await readToEnd(await subject.open())).toHaveLength(10);
    });

    it('close does not wait for a server that hangs', async () => {
      const hasty = await subject.open({ appendTimeoutMs: 300, readTimeoutMs: 300 });
      const first = [event()];
      await untilAnswered(() => hasty.append('s', 'no-stream', first));
      const tail = hasty
        .follow(await hasty.head(), { signal: new AbortController().signal })
        [Symbol.asyncIterator]();
      const waiting = tail.next();
      subject.freeze();
      const append = hasty.append('t', 'no-stream', [event()]);
      const startedAt = performance.now();
      await Promise.all([hasty.close(), expect(append).rejects.toThrow(EventLogUnavailable)]);
      expect(await waiting).toEqual({ done: true, value: undefined });
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      subject.thaw();
    });
  });
}

type Stored = Extract<AppendResult, { kind: 'appended' }>;

export function event(parts: Partial<NewEvent> = {}): NewEvent {
  return {
    id: randomUUID(),
    type: 'SomethingHappened',
    data: '{"amount":12}',
    metadata: '{"mode":"live"}',
    ...parts,
  };
}

export function at(revision: number): ExpectedRevision {
  return revision === 0 ? 'no-stream' : BigInt(revision - 1);
}

export function stored(result: AppendResult): Stored {
  if (result.kind !== 'appended')
    throw new Error(`a conflict: expected ${result.expected}, actual ${result.actual}`);
  return result;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

async function pagesOf(log: EventLog, limit: number): Promise<(readonly RecordedEvent[])[]> {
  const pages: (readonly RecordedEvent[])[] = [];
  for (let after: Position | undefined; ;) {
    const page = await log.readAll(after, limit);
    if (page.length === 0) return pages;
    pages.push(page);
    after = page.at(-1)?.position;
  }
}

export const readToEnd = async (log: EventLog): Promise<RecordedEvent[]> =>
  (await pagesOf(log, 1_000)).flat();

const conflict = (expected: ExpectedRevision, actual: ExpectedRevision) => ({
  kind: 'conflict',
  expected,
  actual,
});

/** Repeats the identical call until it is answered, at most for the time of a test. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + 50_000;
  for (let looks = 1; ; looks++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof EventLogUnavailable) || performance.now() > endsAt) throw error;
    }
    await pollPause(looks);
  }
}

function expectInOrder(events: readonly RecordedEvent[]): void {
  events
    .slice(1)
    .forEach((event, index) =>
      expect(event.recordedAt).toBeGreaterThanOrEqual(events[index]?.recordedAt ?? 0),
    );
}

/**
 * From the log's first event on: revisions without gaps, times in order, and where positions are
 * counted, those without gaps too.
 */
export function expectWhole(
  subject: Pick<LogUnderTest, 'ordinal'>,
  all: readonly RecordedEvent[],
): void {
  const revisions = new Map<string, bigint>();
  for (const { stream, revision } of all) {
    expect([stream, revision]).toEqual([stream, (revisions.get(stream) ?? -1n) + 1n]);
    revisions.set(stream, revision);
  }
  expectInOrder(all);
  const { ordinal } = subject;
  if (ordinal)
    expect(all.map(({ position }) => ordinal(position))).toEqual(
      all.map((_, index) => BigInt(index + 1)),
    );
}
