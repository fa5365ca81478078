import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openPool } from '../../src/postgres/database.js';
import { migrateToLatest } from '../../src/postgres/migrator.js';
import { describeSchema } from '../../src/postgres/schema-description.js';
import { createTestDatabase } from '../support/database.js';

test('docs/generated/schema.txt is the schema that the migrations make (node scripts/write-schema-snapshot.mjs renews it)', async () => {
  const database = await createTestDatabase({ migrated: false });
  const pool = openPool({ url: database.url, max: 2, applicationName: 'schema-snapshot' });
  try {
    await migrateToLatest(pool);
    expect(await describeSchema(pool)).toBe(
      await readFile(join(__dirname, '../../docs/generated/schema.txt'), 'utf8'),
    );
  } finally {
    await pool.end();
    await database.drop();
  }
});
