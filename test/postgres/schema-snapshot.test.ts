import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrateToLatest } from '../../src/postgres/migrator.js';
import { describeSchema } from '../../src/postgres/schema-description.js';
import { useDatabase } from '../support/database.js';

const { pool } = useDatabase(2, { migrated: false });

test('docs/generated/schema.txt is the schema that the migrations make (node scripts/write-schema-snapshot.mjs renews it)', async () => {
  await migrateToLatest(pool);
  expect(await describeSchema(pool)).toBe(
    await readFile(join(__dirname, '../../docs/generated/schema.txt'), 'utf8'),
  );
});
