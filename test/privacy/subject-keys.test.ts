import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { openPool } from '../../src/postgres/database.js';
import { PostgresKeyRows } from '../../src/privacy/key-rows.js';
import { WrappedKeys } from '../../src/privacy/subject-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool({ url: database.url, max: 2, applicationName: 'keys' });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** The keys as a process has them: what another one destroys is still in its cache. */
const aProcess = () => new WrappedKeys(new PostgresKeyRows(pool), Buffer.alloc(32, 1));

it('a key is made once, and is the same in every process', async () => {
  const subject = randomUUID();
  expect((await aProcess().load([subject])).get(subject)).toBeNull();
  const made = (await aProcess().loadOrCreate([subject])).get(subject);
  expect(made).toHaveLength(32);
  expect((await aProcess().loadOrCreate([subject])).get(subject)).toEqual(made);
  expect((await aProcess().load([subject])).get(subject)).toEqual(made);
});

it('a destroyed key is never made again, and neither is one that was destroyed before it was made', async () => {
  const [known, unknown] = [randomUUID(), randomUUID()];
  const keys = aProcess();
  await keys.loadOrCreate([known]);
  await keys.destroy([known, unknown]);
  for (const process of [keys, aProcess()]) {
    expect([...(await process.loadOrCreate([known, unknown])).values()]).toEqual([null, null]);
    expect([...(await process.load([known, unknown])).values()]).toEqual([null, null]);
  }
});

it('a key that is read while its subject is evicted is not cached', async () => {
  const subject = randomUUID();
  await aProcess().loadOrCreate([subject]);
  const keys = aProcess();
  const reading = keys.load([subject]);
  keys.forget([subject]);
  expect((await reading).get(subject)).toHaveLength(32);
  await aProcess().destroy([subject]);
  expect((await keys.load([subject])).get(subject)).toBeNull();
});
