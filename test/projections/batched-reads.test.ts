import pg from 'pg';
import { isUnavailable } from '../../src/postgres/database.js';
import type { Values } from '../../src/postgres/statements.js';
import { BatchedReads } from '../../src/projecting/following/batched-reads.js';

/** Answers each name with `found <name>`, and keeps the names of each statement. */
function readsOf(find: (names: readonly unknown[]) => Promise<readonly unknown[]>) {
  const statements: (readonly unknown[])[] = [];
  const reads = new BatchedReads(['name'], ({ name }: Values) => {
    const names = name as readonly unknown[];
    statements.push(names);
    return find(names);
  });
  return { statements, row: (name: string) => reads.row<string>({ name }) };
}

const allFound = async (names: readonly unknown[]) => names.map((name) => `found ${String(name)}`);
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('reads of one turn share a statement, and each has its own row', async () => {
  const { statements, row } = readsOf(async (names) =>
    names.map((name) => (name === 'none' ? null : `found ${String(name)}`)),
  );
  expect(await Promise.all([row('a'), row('none'), row('b')])).toEqual([
    'found a',
    undefined,
    'found b',
  ]);
  expect(statements).toEqual([['a', 'none', 'b']]);
});

it('a read that begins later is not answered by a statement that is under way', async () => {
  let answer: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (answer = resolve));
  const { statements, row } = readsOf(async (names) => {
    await asked;
    return allFound(names);
  });
  const first = row('a');
  await nextTurn();
  const second = row('a');
  await nextTurn();
  expect(statements).toEqual([['a'], ['a']]);
  answer();
  expect(await Promise.all([first, second])).toEqual(['found a', 'found a']);
});

it('a read that the server fails does not fail those of its turn', async () => {
  const failed = new pg.DatabaseError('cut off by its time limit', 0, 'error');
  const { statements, row } = readsOf(async (names) => {
    if (names.includes('slow')) throw failed;
    return allFound(names);
  });
  const slow = row('slow').catch((error: unknown) => error);
  expect(await Promise.all([row('a'), slow, row('b')])).toEqual(['found a', failed, 'found b']);
  expect(statements).toEqual([['slow', 'a', 'b'], ['slow'], ['a'], ['b']]);
});

it('while the database is away, each is refused, and the statement is not repeated', async () => {
  const { statements, row } = readsOf(async () => {
    throw new Error('Connection terminated unexpectedly');
  });
  const refused = await Promise.all(
    ['a', 'b'].map((name) => row(name).catch((error: unknown) => isUnavailable(error))),
  );
  expect(refused).toEqual([true, true]);
  expect(statements).toEqual([['a', 'b']]);
});
