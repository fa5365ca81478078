import type { EventLog, Position } from '../../src/event-log/event-log.js';
import { OwnWrites, type ReadAt } from '../../src/http/writing/own-writes.js';
import { PositionWaiters } from '../../src/following/position-waiters.js';

/** A log whose positions are numbers, and whose head is at 100. */
const log = {
  isPosition: (text: string) => /^\d+$/.test(text),
  compare: (a: Position | undefined, b: Position | undefined) => Number(a ?? 0) - Number(b ?? 0),
  head: async () => '100',
  newestSeen: { position: '50', eventId: 'e' },
  onWentBack: () => undefined,
} as unknown as EventLog;

interface Waiting {
  readonly timeoutMs: number;
  readonly departure: AbortSignal;
}

/** Reads whose read models are at `applied` until they advance. */
function openReads(from: number) {
  let applied = from;
  const waiting: Waiting[] = [];
  const waiters = new PositionWaiters(log);
  const progress = {
    projectionsReach: async (
      position: Position,
      names: readonly string[],
      timeoutMs: number,
      departure: AbortSignal,
    ) => {
      if (Number(position) <= applied) return true;
      waiting.push({ timeoutMs, departure });
      return waiters.wait(position, names, timeoutMs, departure);
    },
    projectionsHave: (position: Position) => Number(position) <= applied,
    policiesReach: async () => true,
    projectionsAt: async (names: readonly string[]) =>
      new Map(names.map((name) => [name, String(applied)])),
    policiesAt: async () => '100',
  };
  const ownWrites = new OwnWrites(log, progress, {
    timeoutMs: 600_000,
    ownWritesMs: 600_000,
  });
  const read = (
    tenant: string,
    atLeast: Position | undefined,
    departure = new AbortController(),
  ) => {
    const at: ReadAt = {
      scope: { tenant, mode: 'live' },
      projections: ['users'],
      atLeast,
      departure: departure.signal,
    };
    return ownWrites.visible(at).then(
      () => 'shown',
      (error: unknown) => (error as { readonly code: string }).code,
    );
  };
  const advance = (to: number): void => {
    applied = to;
    waiters.advanced('users', String(to));
  };
  return { waiting, advance, read, ownWrites };
}

const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

test('a read waits for nothing when all own writes are included, and none of them may have a reaction', () => {
  const { advance, ownWrites } = openReads(10);
  const scope = { tenant: 'shop', mode: 'live' } as const;
  const isAllShown = () => ownWrites.isAllShown({ scope, projections: ['users'] });
  expect(isAllShown()).toBe(true);
  ownWrites.note(scope, '15', false);
  expect(isAllShown()).toBe(false);
  advance(15);
  expect(isAllShown()).toBe(true);
  ownWrites.note(scope, '15', true);
  expect(isAllShown()).toBe(false);
  expect(ownWrites.isAllShown({ scope: { ...scope, mode: 'test' }, projections: ['users'] })).toBe(
    true,
  );
});

test('waiters leave with their clients, those that are late too', async () => {
  const waiters = new PositionWaiters(log);
  const client = new AbortController();
  const waits = waiters.wait('20', ['users'], 600_000, client.signal);
  expect(waiters.awaited()).toEqual(['users']);
  client.abort();
  expect(await waits).toBe(false);
  expect(waiters.awaited()).toEqual([]);
  expect(await waiters.wait('20', ['users'], 600_000, client.signal)).toBe(false);
  expect(waiters.awaited()).toEqual([]);
});
