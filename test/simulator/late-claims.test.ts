import { SeededRandom } from '../../simulator/seeded-random.js';
import { SimulatedAnswerRows, SimulatedAnswerTable } from '../../simulator/simulated-answers.js';
import { StoreAway } from '../../simulator/store-away.js';
import { Owner, VirtualWorld } from '../../simulator/virtual-world.js';
import { after, elapsed, enterWorld } from '../../src/foundation/world.js';
import { pause } from '../../src/foundation/pause.js';
import { StoredAnswers } from '../../src/idempotency/stored-answers.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const REQUEST = {
  scope: { tenant: 'demo', mode: 'live' },
  key: 'key',
  fingerprint: 'fingerprint',
} as const;
const ANSWERED_MS = 40;
const LATE_MS = 2_000;

const away = new StoreAway('the database is away');
const later = <T>(work: () => T, ms: number): Promise<T> =>
  new Promise((resolve, reject) => {
    after(ms, () => {
      try {
        resolve(work());
      } catch (error) {
        reject(error instanceof Error ? error : new Error('failed', { cause: error }));
      }
    });
  });

/** Two processes on one table. The first change of process 1 takes effect late, without answer. */
function twoProcesses(world: VirtualWorld) {
  const table = new SimulatedAnswerTable(() => world.now());
  let changes = 0;
  const answersOf = (id: number): StoredAnswers => {
    table.present.add(id);
    const line = {
      read: <T>(_: string, __: () => Error, question: () => T) => later(question, ANSWERED_MS),
      write: <T>(_: string, __: () => Error, change: () => T): Promise<T> => {
        changes += 1;
        if (changes > 1) return later(change, ANSWERED_MS);
        after(LATE_MS, change);
        return Promise.reject(away);
      },
    };
    const rows = new SimulatedAnswerRows(table, line, id);
    return new StoredAnswers(rows, new FixedSealer(Buffer.alloc(32, 1)), new InMemorySubjectKeys());
  };
  return { table, one: answersOf(1), other: answersOf(2), changesMade: () => changes };
}

async function inWorld(work: (world: VirtualWorld) => Promise<void>): Promise<void> {
  const world = new VirtualWorld(new SeededRandom(1));
  const leave = enterWorld(world);
  try {
    let ended: Promise<void> | undefined;
    let isOver = false;
    world.hand(new Owner('process'), () => {
      ended = work(world).finally(() => (isOver = true));
    });
    await world.runUntil(() => isOver);
    await ended;
  } finally {
    leave();
  }
}

/** So long passes on the clock of the world, which runs ahead by itself. */
const virtually = (ms: number): Promise<void> => pause(ms);

it('a claim that is made long after its request failed is released, by three statements', () =>
  inWorld(async (world) => {
    const { table, one, changesMade } = twoProcesses(world);
    await expect(one.claim(REQUEST)).rejects.toBe(away);
    await virtually(LATE_MS + 1);
    expect(table.held).toHaveLength(1);
    await virtually(60_000);
    expect(table.held).toEqual([]);
    expect(changesMade()).toBe(1 + 3);
  }));

it('a claim is kept while its request runs again', () =>
  inWorld(async (world) => {
    const { table, one } = twoProcesses(world);
    await expect(one.claim(REQUEST)).rejects.toBe(away);
    await virtually(LATE_MS + 1);
    expect(await one.claim(REQUEST)).toHaveProperty('commandId');
    await virtually(60_000);
    expect(table.held).toHaveLength(1);
  }));

it('a late claim is released even if the request was repeated meanwhile and another process had it', () =>
  inWorld(async (world) => {
    const { table, one, other } = twoProcesses(world);
    await expect(one.claim(REQUEST)).rejects.toBe(away);
    expect(await other.claim(REQUEST)).toHaveProperty('commandId');
    // It is under way at every release of the failed one.
    while (elapsed() < LATE_MS - 200) {
      expect(await one.claim(REQUEST)).toEqual({ refused: 'REQUEST_IN_PROGRESS' });
    }
    await other.drop(REQUEST);
    await virtually(LATE_MS - elapsed() + 1);
    expect(table.held).toHaveLength(1);
    await virtually(60_000);
    expect(table.held).toEqual([]);
  }));
