import { randomUUID } from 'node:crypto';
import type { Position } from '../../src/event-log/event-log.js';
import { OwnWrites, type Progress } from '../../src/http/writing/own-writes.js';
import type { Positions } from '../../src/http/writing/stalled-followers.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const WITHIN_MS = 20_000;
const OWN_MS = 10_000;

/** Read models and policies that reach every position; what was waited for, in order. */
class InstantProgress implements Progress {
  readonly waits: string[] = [];
  projected: Position | undefined;
  reacted: Position | undefined;
  /** Recorded before the start, and not included. */
  before: Position | undefined;
  /** Called when policies are waited for, before they reach the position. */
  onPolicies: () => Promise<void> = () => Promise.resolve();

  waitForProjections(position: Position): Promise<boolean> {
    this.waits.push(`projections ${position}`);
    return Promise.resolve(true);
  }

  async waitForPolicies(position: Position): Promise<boolean> {
    this.waits.push(`policies ${position}`);
    await this.onPolicies();
    return true;
  }

  projectionPositions(projections: readonly string[]): Promise<Positions> {
    return Promise.resolve(new Map(projections.map((name) => [name, this.projected])));
  }

  policyPosition(): Promise<Position | undefined> {
    return Promise.resolve(this.reacted);
  }

  skippedHead(): Position | undefined {
    return this.before;
  }
}

let log: InMemoryEventLog;
let progress: InstantProgress;
let writes: OwnWrites;
let made = 0;
beforeEach(() => {
  log = new InMemoryEventLog();
  progress = new InstantProgress();
  const limits = { timeoutMs: WITHIN_MS, ownWritesMs: OWN_MS };
  writes = new OwnWrites(log, progress, limits);
});

/** Something is recorded, by this process or another one. */
async function recorded(): Promise<Position> {
  const id = String(made++);
  const event = { id: randomUUID(), type: 'Happened', data: '{}', metadata: '{}' };
  const appended = await log.append(`stream-${id}`, 'no-stream', [event]);
  if (appended.kind === 'conflict') throw new Error('the test appends alone');
  return appended.position;
}
const read = (atLeast?: Position, departure = new AbortController().signal) =>
  writes.visible({ scope: SCOPE, projections: ['users'], atLeast, departure });

it('a read waits for the reactions to the newest write, once, and for what they recorded', async () => {
  writes.record(SCOPE, await recorded(), true);
  progress.onPolicies = async () => void (await recorded());
  await read();
  expect(progress.waits).toEqual(['policies m-1', 'projections m-2']);
  await read();
  expect(progress.waits.slice(2)).toEqual(['projections m-2']);
});

it('a write without events of its own whose reactions are included is not waited for again', async () => {
  const position = await recorded();
  writes.record(SCOPE, position, true);
  await read();
  const headReads = jest.spyOn(log, 'head');
  writes.record(SCOPE, position, true);
  await read();
  expect(headReads).not.toHaveBeenCalled();
  expect(progress.waits).toEqual([
    `policies ${position}`,
    `projections ${position}`,
    `projections ${position}`,
  ]);
  const later = await recorded();
  writes.record(SCOPE, later, true);
  await read();
  expect(progress.waits.slice(3)).toEqual([`policies ${later}`, `projections ${later}`]);
});

it('a write that is noted while a read waits for policies is waited for as well, by it and by the next read', async () => {
  writes.record(SCOPE, await recorded(), true);
  let others = 4;
  progress.onPolicies = async () => {
    if (others-- > 0) writes.record(SCOPE, await recorded(), true);
  };
  // Each wait meets another write: after the longest chain of reactions the read continues.
  await read();
  expect(progress.waits).toEqual([
    'policies m-1',
    'policies m-2',
    'policies m-3',
    'policies m-4',
    'projections m-5',
  ]);
  await read();
  expect(progress.waits.slice(5)).toEqual(['policies m-5', 'projections m-5']);
});

it('a write that is noted while the head is read stays the newest, whatever the head was', async () => {
  writes.record(SCOPE, await recorded(), true);
  const head = log.head.bind(log);
  jest.spyOn(log, 'head').mockImplementationOnce(async () => {
    const before = await head();
    writes.record(SCOPE, await recorded(), false);
    return before;
  });
  await read();
  expect(progress.waits).toEqual(['policies m-1', 'projections m-2']);
});

it('a read does not wait for a follower that the start skipped, and reports the included position', async () => {
  const [first, second] = [await recorded(), await recorded()];
  progress.before = second;
  progress.projected = first;
  progress.reacted = second;
  expect(await read()).toEqual({ included: first });
  progress.projected = second;
  expect(await read()).toBeUndefined();
  progress.reacted = undefined;
  expect(await read()).toEqual({ included: undefined });
  expect(progress.waits).toEqual([]);
  progress.before = undefined;
  expect(await read()).toBeUndefined();
});

it('a read waits for no write of another tenant or mode', async () => {
  writes.record({ ...SCOPE, mode: 'test' }, await recorded(), true);
  writes.record({ ...SCOPE, tenant: 'other' }, await recorded(), true);
  await read();
  expect(progress.waits).toEqual([]);
});

it('a read whose policies do not react in time is answered with the position that is included, and the next read waits for them again', async () => {
  const [before, own] = [await recorded(), await recorded()];
  writes.record(SCOPE, own, true);
  Object.assign(progress, { projected: own, reacted: before });
  const reach = jest.spyOn(progress, 'waitForPolicies').mockResolvedValue(false);
  expect(await read()).toEqual({ included: before });
  // It has moved since.
  progress.reacted = undefined;
  reach.mockRestore();
  expect(await read()).toBeUndefined();
  expect(progress.waits.slice(-2)).toEqual(['policies m-2', 'projections m-2']);
});

describe('stalled read models', () => {
  let before: Position;
  let own: Position;
  beforeEach(async () => {
    [before, own] = [await recorded(), await recorded()];
    writes.record(SCOPE, own, false);
    progress.projected = before;
    jest.spyOn(progress, 'waitForProjections').mockImplementation((position) => {
      progress.waits.push(`projections ${position}`);
      return Promise.resolve(progress.projected === own);
    });
  });

  it('are waited for once, until they move', async () => {
    expect(await read()).toEqual({ included: before });
    const waited = progress.waits.length;
    expect(waited).toBeGreaterThan(0);
    expect(await read()).toEqual({ included: before });
    expect(progress.waits).toHaveLength(waited);
    progress.projected = own;
    expect(await read()).toBeUndefined();
    progress.projected = before;
    expect(await read()).toEqual({ included: before });
    expect(progress.waits.length).toBeGreaterThan(waited);
  });

  it('are waited for again when they were moving', async () => {
    const { at } = seenAt(['m-1', undefined, 'm-1']);
    jest.spyOn(progress, 'projectionPositions').mockImplementation(at);
    expect(await read()).toEqual({ included: 'm-1' });
    const waited = progress.waits.length;
    await read();
    expect(progress.waits.length).toBeGreaterThan(waited);
  });

  it('are not known by a client that left', async () => {
    const gone = new AbortController();
    gone.abort();
    await read(undefined, gone.signal);
    const waited = progress.waits.length;
    await read();
    expect(progress.waits.length).toBeGreaterThan(waited);
  });

  it('refuse a read that names a position, and answer one whose position they include', async () => {
    await expect(read(own)).rejects.toMatchObject({ code: 'POSITION_NOT_REACHED' });
    jest.spyOn(progress, 'waitForProjections').mockResolvedValueOnce(true).mockResolvedValue(false);
    expect(await read(before)).toEqual({ included: before });
  });

  it('are forgotten when the log loses its end', async () => {
    await read();
    const waited = progress.waits.length;
    log.loseTail(1);
    writes.record(SCOPE, before, false);
    await read();
    expect(progress.waits.length).toBeGreaterThan(waited);
  });
});

/** Read models that are at one position after the other, and stay at the last. */
function seenAt(positions: readonly (Position | undefined)[]) {
  const left = [...positions];
  const at = (names: readonly string[]): Promise<Positions> => {
    const position = left.length > 1 ? left.shift() : left[0];
    return Promise.resolve(new Map(names.map((name) => [name, position])));
  };
  return { at };
}
