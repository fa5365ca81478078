import type { Position } from '../../src/event-log/event-log.js';
import { OwnWrites, type Progress } from '../../src/http/writing/own-writes.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const WITHIN_MS = 20_000;

/** Read models and policies that reach every position; what was waited for, in order. */
class InstantProgress implements Progress {
  readonly waits: string[] = [];
  /** Called when policies are waited for, before they reach the position. */
  onPolicies: () => Promise<void> = () => Promise.resolve();

  projectionsReach(position: Position): Promise<boolean> {
    this.waits.push(`projections ${position}`);
    return Promise.resolve(true);
  }

  async policiesReach(position: Position): Promise<boolean> {
    this.waits.push(`policies ${position}`);
    await this.onPolicies();
    return true;
  }
}

let log: InMemoryEventLog;
let progress: InstantProgress;
let writes: OwnWrites;
let made = 0;
beforeEach(() => {
  log = new InMemoryEventLog();
  progress = new InstantProgress();
  writes = new OwnWrites(log, progress, { timeoutMs: WITHIN_MS, perTenantMax: 1 });
});

/** Something is recorded, by this process or another one. */
async function recorded(): Promise<Position> {
  const id = String(made++);
  const event = { id: `event-${id}`, type: 'Happened', data: '{}', metadata: '{}' };
  const appended = await log.append(`stream-${id}`, 'no-stream', [event]);
  if (appended.kind === 'conflict') throw new Error('the test appends alone');
  return appended.position;
}
const read = () =>
  writes.visible({
    scope: SCOPE,
    projections: ['users'],
    atLeast: undefined,
    departure: new AbortController().signal,
  });

it('a read waits for the reactions to the newest write, once, and for what they recorded', async () => {
  writes.note(SCOPE, await recorded(), true);
  progress.onPolicies = async () => void (await recorded());
  await read();
  expect(progress.waits).toEqual(['policies m-1', 'projections m-2']);
  await read();
  expect(progress.waits.slice(2)).toEqual(['projections m-2']);
});

it('a write that is noted while a read waits for policies is waited for as well, by it and by the next read', async () => {
  writes.note(SCOPE, await recorded(), true);
  let others = 4;
  progress.onPolicies = async () => {
    if (others-- > 0) writes.note(SCOPE, await recorded(), true);
  };
  // Each wait meets another write: after the longest chain of reactions the read goes on.
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
  writes.note(SCOPE, await recorded(), true);
  const head = log.head.bind(log);
  jest.spyOn(log, 'head').mockImplementationOnce(async () => {
    const before = await head();
    writes.note(SCOPE, await recorded(), false);
    return before;
  });
  await read();
  expect(progress.waits).toEqual(['policies m-1', 'projections m-2']);
});

it('a read waits for no write of another tenant or mode', async () => {
  writes.note({ ...SCOPE, mode: 'test' }, await recorded(), true);
  writes.note({ ...SCOPE, tenant: 'other' }, await recorded(), true);
  await read();
  expect(progress.waits).toEqual([]);
});

it('a read whose policies do not react in time is refused, and the next read waits for them again', async () => {
  writes.note(SCOPE, await recorded(), true);
  jest.spyOn(progress, 'policiesReach').mockResolvedValueOnce(false);
  await expect(read()).rejects.toMatchObject({ code: 'POSITION_NOT_REACHED' });
  await read();
  expect(progress.waits).toEqual(['policies m-1', 'projections m-1']);
});
