import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const testsOf = (folder: string): readonly string[] =>
  readdirSync(join(__dirname, '..', folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(__dirname, '..', folder, name), 'utf8'));

// Themes are rows and not events: their refusals are decided, and tested, with the operations.
const FOLDERS = ['domain', 'command-handling', 'operations'];
const TESTS = FOLDERS.flatMap(testsOf).join('\n');
const UNION = readFileSync(join(__dirname, '../../src/domain/refusal.ts'), 'utf8');
const CODES = [...UNION.matchAll(/^ {2}\| '([A-Z_]+)'/gm)].map(([, code]) => code);

it.each(CODES)('a decision is tested that is refused with %s', (code) => {
  expect(TESTS).toContain(`'${code}'`);
});
