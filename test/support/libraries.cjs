const { createHash } = require('node:crypto');
const { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { buildSync } = require('esbuild');
const { dependencies } = require('../../package.json');
const { settings } = require('../../scripts/bundle-settings.cjs');

const root = join(__dirname, '..', '..');

/** What the service depends on. What bundles leave out is loaded from its package, as in the service. */
const libraries = [...Object.keys(dependencies).filter((name) => !settings.external.includes(name)), 'ajv/dist/2020.js'];

/**
 * Jest reads and compiles every module anew for every file of tests: some 1 500 of libraries alone. Joined in one file they cost a third.
 * Made once for a lock file; each library is evaluated when it is first asked for.
 * @returns {Record<string, string>} jest's `moduleNameMapper` from each library to its part of that file.
 */
function joinedLibraries() {
  const made = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(readFileSync(__filename))
    .update(JSON.stringify(settings))
    .digest('hex');
  const folder = join(root, '.cache', 'test-libraries', made.slice(0, 16));
  if (!existsSync(folder)) make(folder);
  return Object.fromEntries(libraries.map((name, at) => [`^${name.replace(/[.\\/]/g, '\\$&')}$`, join(folder, `${at}.cjs`)]));
}

/** Complete or not there at all: of two processes that make it at once, one comes first and the other one's is the same. */
function make(folder) {
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  buildSync({
    ...settings,
    stdin: { contents: libraries.map((name, at) => `exports[${at}] = () => require('${name}');`).join('\n'), resolveDir: root },
    outfile: join(unfinished, 'all.cjs'),
    format: 'cjs',
    // Asked for to find other packages from there.
    define: { 'import.meta.url': '$here' },
    banner: { js: `const $here = ${JSON.stringify(pathToFileURL(join(root, 'package.json')).href)};` },
  });
  libraries.forEach((_, at) => writeFileSync(join(unfinished, `${at}.cjs`), `module.exports = require('./all.cjs')[${at}]();\n`));
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

module.exports = { joinedLibraries };
