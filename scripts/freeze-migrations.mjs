#!/usr/bin/env node
// Records the digests of new migrations in docs/generated/migrations.json. A recorded digest never
// changes: a database somewhere has run that migration, so a correction is a further migration.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const list = join(root, 'docs', 'generated', 'migrations.json');
const frozen = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : {};

let changed = 0;
for (const file of readdirSync(join(root, 'migrations')).sort()) {
  const digest = createHash('sha256')
    .update(readFileSync(join(root, 'migrations', file)))
    .digest('hex');
  if (frozen[file] !== undefined && frozen[file] !== digest) {
    process.stderr.write(
      `${file} was changed after it was frozen: bring it back and write a new migration\n`,
    );
    changed += 1;
  }
  frozen[file] ??= digest;
}
if (changed > 0) process.exit(1);
mkdirSync(join(root, 'docs', 'generated'), { recursive: true });
writeFileSync(list, `${JSON.stringify(frozen, null, 2)}\n`);
