import { LogWentBack, type RecordedEvent } from '../../src/event-log/event-log.js';
import { NewestSeen } from '../../src/event-log/newest-seen.js';
import { PostgresEventReader } from '../../src/event-log/postgres/postgres-event-reader.js';
import { PostgresPositions } from '../../src/event-log/postgres/postgres-positions.js';
import type { PostgresReadPool } from '../../src/event-log/postgres/postgres-read-pool.js';
import { TailWindow } from '../../src/event-log/postgres/tail-window.js';

const event = (ordinal: number, data = '{}'): RecordedEvent => ({
  id: `id-${ordinal}`,
  type: 'Any',
  data,
  metadata: '{}',
  stream: 'any',
  revision: BigInt(ordinal),
  position: `00000000-${ordinal}`,
  recordedAt: 0,
});
const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('a window', () => {
  let window: TailWindow;
  const add = (after: number, numbers: readonly number[], { epoch = 0, data = '{}' } = {}): void =>
    window.add({
      after: BigInt(after),
      afterId: after === 0 ? undefined : `id-${after}`,
      events: numbers.map((number) => event(number, data)),
      ordinals: numbers.map(BigInt),
      epoch,
    });
  const behind = (
    place: number,
    { knownId = `id-${place}`, limit = 1_000, epoch = 0, heard = 0 } = {},
  ) => {
    const reach = { limit, epoch, heard: () => BigInt(heard) };
    return window.behind(BigInt(place), knownId, reach)?.ordinals.map(Number);
  };
  beforeEach(() => {
    window = new TailWindow();
    add(10, from(11, 14));
  });

  it('has what is behind its beginning and behind each of its events', () => {
    expect(behind(10)).toEqual([11, 12, 13, 14]);
    expect(behind(12)).toEqual([13, 14]);
    expect(behind(10, { limit: 2 })).toEqual([11, 12]);
  });

  it('has nothing behind its end, before its beginning, or in another epoch', () => {
    for (const place of [14, 15, 9]) expect(behind(place)).toBeUndefined();
    expect(behind(12, { epoch: 1 })).toBeUndefined();
  });

  it('has nothing behind a place where another event is', () => {
    expect(behind(12, { knownId: 'another' })).toBeUndefined();
    expect(behind(10, { knownId: 'another' })).toBeUndefined();
  });

  it('goes on with what follows it, and begins anew with what does not', () => {
    add(14, from(15, 16));
    expect(behind(12)).toEqual([13, 14, 15, 16]);
    add(20, [21]);
    expect(behind(12)).toBeUndefined();
    expect(behind(20)).toEqual([21]);
    add(12, from(13, 15));
    expect(behind(20)).toEqual([21]);
    add(20, [21, 22], { epoch: 1 });
    expect(behind(20)).toBeUndefined();
    expect(behind(20, { epoch: 1 })).toEqual([21, 22]);
  });

  it('says that more follows when more was heard of', () => {
    const isFull = (heard: bigint) =>
      window.behind(12n, 'id-12', { limit: 1_000, epoch: 0, heard: () => heard })?.isFull;
    expect([isFull(14n), isFull(15n)]).toEqual([false, true]);
  });

  it('holds a thousand events, and a MiB', () => {
    add(14, from(15, 2_000));
    expect(behind(999)).toBeUndefined();
    expect(behind(1_000)).toHaveLength(1_000);
    add(2_000, from(2_001, 2_004), { data: 'x'.repeat(400_000) });
    expect(behind(2_001)).toBeUndefined();
    expect(behind(2_002)).toEqual([2_003, 2_004]);
    add(2_004, [2_005], { data: 'x'.repeat(2_000_000) });
    expect(behind(2_004)).toBeUndefined();
  });
});

describe('tails of one process', () => {
  const log = from(1, 5);
  const reads: number[] = [];
  const seen = new NewestSeen();
  const pool = {
    read: ({ values: [cursor, limit] }: { readonly values: readonly [bigint, number] }) => {
      reads.push(Number(cursor));
      return Promise.resolve(
        log
          .filter((one) => one >= Number(cursor))
          .slice(0, limit)
          .map((one) => [
            BigInt(one),
            'any',
            BigInt(one),
            `id-${one}`,
            'Any',
            '{}',
            '{}',
            0,
            false,
          ]),
      );
    },
  } as unknown as PostgresReadPool;
  const reader = new PostgresEventReader(pool, new PostgresPositions('00000000'), seen);
  const heard = () => BigInt(log.at(-1) ?? 0);

  it('that are woken together share a read, and each goes on from its place', async () => {
    const [one, other, late] = [1, 2, 3].map(() => reader.tail(100, heard));
    const numbersOf = async (tail: typeof one, cursor: bigint) =>
      (await tail?.(cursor))?.events.map(({ revision }) => Number(revision));
    expect(await Promise.all([numbersOf(one, 1n), numbersOf(other, 2n)])).toEqual([
      [2, 3, 4, 5],
      [3, 4, 5],
    ]);
    expect(reads).toEqual([1]);
    log.push(6, 7);
    expect(await numbersOf(one, 5n)).toEqual([6, 7]);
    expect(await numbersOf(other, 5n)).toEqual([6, 7]);
    expect(await numbersOf(late, 1n)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(reads).toEqual([1, 5]);
    // At the end each proves for itself that its event is still there.
    expect(await numbersOf(one, 7n)).toEqual([]);
    expect(reads).toEqual([1, 5, 7]);
  });

  it('learn from the end of the log alone that it went back', async () => {
    const [one, other] = [reader.tail(100, heard), reader.tail(100, heard)];
    expect((await one(5n)).events).toHaveLength(2);
    log.splice(5);
    await expect(one(7n)).rejects.toThrow(LogWentBack);
    await expect(other(5n)).rejects.toThrow(LogWentBack);
  });
});
