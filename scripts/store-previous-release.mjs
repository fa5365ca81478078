#!/usr/bin/env node
// node scripts/store-previous-release.mjs <commit>
// Writes what the everyday suite needs of the previous release to test/releases/previous: its commit,
// schema, migrations, tables of read models and samples of events. To be run when a release is out.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv, exit, stderr } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const stored = join(root, 'test', 'releases', 'previous');
const [, , named] = argv;
if (named === undefined) {
  stderr.write('name the commit of the previous release\n');
  exit(1);
}

const git = (...words) =>
  execFileSync('git', words, { cwd: root, maxBuffer: 256 * 1024 * 1024, encoding: 'utf8' });
const write = (name, text) => writeFileSync(join(stored, name), text);
const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

const commit = git('rev-parse', '--verify', `${named}^{commit}`).trim();
const show = (path) => git('show', `${commit}:${path}`);

mkdirSync(stored, { recursive: true });
write('commit', `${commit}\n`);
write('schema.txt', show('docs/generated/schema.txt'));
write('migrations.json', show('docs/generated/migrations.json'));
write('samples.json', json(samples()));
write('tables.json', json(await tables()));

/** The bytes of every sample of an event, by type and version. */
function samples() {
  const folder = 'test/event-log/samples';
  const files = git('ls-tree', '--name-only', commit, `${folder}/`).split('\n').filter(Boolean);
  return Object.fromEntries(
    files.sort().map((path) => {
      const { data, metadata } = JSON.parse(show(path));
      return [path.slice(folder.length + 1).replace(/\.json$/, ''), { data, metadata }];
    }),
  );
}

/** The tables of every read model, as its release declares them. */
async function tables() {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-release-'));
  try {
    const archive = execFileSync('git', ['archive', commit, 'src', 'projections'], {
      cwd: root,
      maxBuffer: 256 * 1024 * 1024,
    });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    const outfile = join(folder, 'projectors.mjs');
    buildSync({
      entryPoints: [join(folder, 'projections', 'account-projectors.ts')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      nodePaths: [join(root, 'node_modules')],
      outfile,
      logLevel: 'error',
      // Libraries that are no modules look for this.
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    });
    const { accountProjectors } = await import(pathToFileURL(outfile).href);
    return accountProjectors.map(({ name, tables: declared }) => ({
      name,
      tables: declared.map(({ name: table, columns, primaryKey, indexes }) => ({
        name: table,
        columns,
        primaryKey,
        indexes,
      })),
    }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
