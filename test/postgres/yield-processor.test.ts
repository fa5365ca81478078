import { constants, getPriority } from 'node:os';
import type { Pool } from 'pg';
import { yieldProcessor } from '../../src/embedded-postgres/yield-processor.js';
import { openPool } from '../../src/postgres/database.js';
import { createTestDatabase } from '../support/database.js';

const priorityOf = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  return getPriority(rows[0]?.pid);
};

test("the server's processes of a pool yield the processor, and no others", async () => {
  const database = await createTestDatabase({ migrated: false });
  const applicationName = 'yield-processor-test';
  const [low, usual] = [1, 2].map(() => openPool({ url: database.url, max: 1, applicationName }));
  if (low === undefined || usual === undefined) throw new Error('two pools');
  yieldProcessor(low);
  try {
    expect(await priorityOf(low)).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
    expect(await priorityOf(usual)).toBe(getPriority());
  } finally {
    await Promise.all([low.end(), usual.end()]);
    await database.drop();
  }
});
