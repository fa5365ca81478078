import type { Pool } from 'pg';
import { isUnavailable } from '../../src/postgres/database.js';
import { SlowReads } from '../../src/projecting/following/slow-reads.js';

/** A pool whose reads are answered by `read`, and the statements around them immediately. */
function poolOf(read: (statement: { readonly text: string }) => Promise<unknown>): Pool {
  const query = (statement: string | { readonly text: string }) =>
    typeof statement === 'string' ? Promise.resolve({ rows: [] }) : read(statement);
  const client = { query, release: () => undefined };
  return { connect: () => Promise.resolve(client) } as unknown as Pool;
}

function heldPool() {
  const running = new Map<string, () => void>();
  const pool = poolOf(
    ({ text }) => new Promise((resolve) => running.set(text, () => resolve({ rows: [text] }))),
  );
  return { pool, running };
}

const turns = async (): Promise<void> => {
  for (let n = 0; n < 30; n++) await Promise.resolve();
};

it('a read of another tenant waits for one read, and not for all that came before it', async () => {
  const { pool, running } = heldPool();
  const reads = new SlowReads(pool, 2);
  const answers = ['1', '2', '3'].map((text) => reads.query('shop', { text }));
  answers.push(reads.query('other', { text: 'other' }));
  await turns();
  expect([...running.keys()]).toEqual(['1', '2']);
  running.get('1')?.();
  await turns();
  expect([...running.keys()]).toEqual(['1', '2', 'other']);
  running.get('2')?.();
  await turns();
  for (const answer of running.values()) answer();
  expect((await Promise.all(answers)).map(({ rows }) => rows[0])).toEqual(['1', '2', '3', 'other']);
});

it('reads beyond those that may wait are refused like those of a busy database, not those of others', async () => {
  const { pool, running } = heldPool();
  const reads = new SlowReads(pool, 1);
  void Array.from({ length: 51 }, (_, n) => reads.query('shop', { text: String(n) }));
  const refused = await reads.query('shop', { text: 'refused' }).catch((error: unknown) => error);
  expect(isUnavailable(refused)).toBe(true);
  const other = reads.query('other', { text: 'other' });
  await turns();
  for (let n = 0; n < 51; n++) {
    running.get(String(n))?.();
    await turns();
  }
  running.get('other')?.();
  await other;
});

it('a read that fails makes room for the next one', async () => {
  const query = jest
    .fn()
    .mockRejectedValueOnce(new Error('cancelled'))
    .mockResolvedValue({ rows: [] });
  const reads = new SlowReads(poolOf(query), 1);
  await expect(reads.query('shop', { text: 'one' })).rejects.toThrow('cancelled');
  expect(await reads.query('shop', { text: 'two' })).toEqual({ rows: [] });
});
