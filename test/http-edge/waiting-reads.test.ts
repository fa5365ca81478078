import type { EventLog, Position } from '../../src/event-log/event-log.js';
import { OwnWrites, type Progress } from '../../src/http/writing/own-writes.js';
import { PositionWaiters } from '../../src/following/position-waiters.js';

/** A log whose positions are numbers, and whose head is at 100. */
const log = {
  isPosition: (text: string) => /^\d+$/.test(text),
  compare: (a: Position | undefined, b: Position | undefined) => Number(a ?? 0) - Number(b ?? 0),
  head: async () => '100',
  newestSeen: { position: '50', eventId: 'e' },
  onWentBack: () => undefined,
} as unknown as EventLog;

let applied = 10;
const ownWrites = new OwnWrites(
  log,
  {
    projectionsInclude: (position: Position) => Number(position) <= applied,
  } as unknown as Progress,
  { timeoutMs: 600_000, ownWritesMs: 600_000 },
);

test('a read waits for nothing when all own writes are included, and none of them may have a reaction', () => {
  const scope = { tenant: 'shop', mode: 'live' } as const;
  const includesAllWrites = () => ownWrites.includesAllWrites({ scope, projections: ['users'] });
  expect(includesAllWrites()).toBe(true);
  ownWrites.record(scope, '15', false);
  expect(includesAllWrites()).toBe(false);
  applied = 15;
  expect(includesAllWrites()).toBe(true);
  ownWrites.record(scope, '15', true);
  expect(includesAllWrites()).toBe(false);
  expect(
    ownWrites.includesAllWrites({ scope: { ...scope, mode: 'test' }, projections: ['users'] }),
  ).toBe(true);
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
