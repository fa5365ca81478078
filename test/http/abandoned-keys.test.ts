import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { IdempotentRequests } from '../../src/http/idempotent-requests.js';
import { openPool } from '../../src/postgres/database.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { eventually } from '../support/embedded.js';

const REQUEST = { scope: { tenant: 'demo', mode: 'live' }, key: 'key', fingerprint: 'fingerprint' } as const;

let database: TestDatabase;
let pool: Pool;
const presences: ProcessPresence[] = [];
const process = async (sealingKey: Buffer): Promise<IdempotentRequests> => {
  const presence = new ProcessPresence(pool);
  await presence.start();
  presences.push(presence);
  return new IdempotentRequests(pool, presence, sealingKey, new InMemorySubjectKeys());
};

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool({ url: database.url, max: 6, applicationName: 'test' });
});
afterAll(async () => {
  for (const presence of presences) await presence.stop();
  await pool.end();
  await database.drop();
});

it('a key whose request came to no answer is for that request alone, in every process', async () => {
  const sealingKey = randomBytes(32);
  const [one, other] = [await process(sealingKey), await process(sealingKey)];
  expect(await one.claim(REQUEST)).toBeUndefined();
  one.abandon(REQUEST);
  // Given back in the background: until then it looks as if it were still running.
  await eventually(async () => {
    const { rowCount } = await pool.query('select from ledger.idempotency_keys where owner <> 0');
    return rowCount === 0;
  });

  const different = { ...REQUEST, fingerprint: 'another' };
  for (const process of [one, other]) {
    await expect(process.claim(different)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  }
  expect(await other.claim(REQUEST)).toBeUndefined();
  await expect(one.claim(REQUEST)).rejects.toMatchObject({ code: 'REQUEST_IN_PROGRESS' });
  const answer = { status: 200, body: { done: true }, position: null };
  await other.keep(REQUEST, answer);
  expect(await one.claim(REQUEST)).toEqual(answer);
});
