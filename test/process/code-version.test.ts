import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeVersion } from '../../src/stores/code-version.js';

test('the same program has the same version, a short text', async () => {
  const version = await codeVersion();
  expect(version).toMatch(/^[0-9a-f]{32}$/);
  expect(await codeVersion()).toBe(version);
});

test('what the bundler shares between programs is named by its content', () => {
  const folder = join(__dirname, '../../dist/bin');
  const others = readdirSync(folder).filter(
    (name) => name.endsWith('.js') && !/-[0-9A-Z]{8}\.js$/.test(name),
  );
  // The entry points: read as a whole.
  expect(others).toEqual(['cli.js', 'main.js']);
  const main = readFileSync(join(folder, 'main.js'), 'utf8');
  expect(main).toMatch(/chunk-[0-9A-Z]{8}\.js/);
});
