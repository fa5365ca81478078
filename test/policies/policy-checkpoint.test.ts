import type pg from 'pg';
import {
  loadPolicyCheckpoint,
  movePoliciesBack,
  writePolicyCheckpoint,
} from '../../src/policies/policy-checkpoint.js';
import { openPool } from '../../src/postgres/database.js';
import { inTransaction } from '../../src/postgres/transaction.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool({ url: database.url, max: 2, applicationName: 'checkpoint' });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

it('a leader from before the policies were moved back does not move the checkpoint on', async () => {
  const leading = { witness: undefined, trail: undefined, losses: 0 };
  await writePolicyCheckpoint(pool, 'm-7', leading);
  await inTransaction(pool, (client) => movePoliciesBack(client, undefined, []));
  await expect(writePolicyCheckpoint(pool, 'm-8', leading)).rejects.toMatchObject({
    name: 'PoliciesMovedBack',
  });
  expect(await loadPolicyCheckpoint(pool)).toMatchObject({ position: null, losses: 1 });
  await writePolicyCheckpoint(pool, 'm-1', { ...leading, losses: 1 });
  expect(await loadPolicyCheckpoint(pool)).toMatchObject({ position: 'm-1', losses: 1 });
});
