import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Words that the project avoids, per folder against plain-words.json, whose figures only shrink:
 * `SHRINK_ALLOWANCE=1 npx jest test/architecture/plain-words` lowers them.
 */
const root = join(__dirname, '..', '..');
const allowanceFile = join(__dirname, 'plain-words.json');

const AVOIDED =
  /\b(?:whoever|somebody|nobody|anybody|told|tells|beside|in vain|of ours|goes on|by and by|for good|comes to|stands? still|gives? way|put right|at once)\b/gi;

const TEXT = /\.(?:ts|cjs|mjs|md|css|hbs)$/;
/** Written by a tool or from outside, or about the words themselves. */
const EXCEPT = /^(?:docs\/generated\/|test\/event-log\/samples\/|test\/architecture\/plain-words)/;
const FOLDERS = 'bench docs migrations projections scripts simulator src test tools'.split(' ');

function filesBelow(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => TEXT.test(path) && !EXCEPT.test(path));
}

const countIn = (path: string): number =>
  readFileSync(join(root, path), 'utf8').replace(/\s+/g, ' ').match(AVOIDED)?.length ?? 0;

/** `src/http` of `src/http/edge/errors.ts`, `docs` of `docs/ledger.md`, `.` of `README.md`. */
const folderOf = (path: string): string =>
  path.split('/').slice(0, -1).slice(0, 2).join('/') || '.';

function countsByFolder(): Map<string, number> {
  const rootPages = readdirSync(root).filter((name) => name.endsWith('.md'));
  const counts = new Map<string, number>();
  for (const path of [...rootPages, ...FOLDERS.flatMap(filesBelow)]) {
    const folder = folderOf(path);
    counts.set(folder, (counts.get(folder) ?? 0) + countIn(path));
  }
  return counts;
}

test('no folder has more words of a private dialect than its allowance', () => {
  const allowed = new Map(
    Object.entries(JSON.parse(readFileSync(allowanceFile, 'utf8')) as Record<string, number>),
  );
  const counts = countsByFolder();
  const above = [...counts].filter(([folder, count]) => count > (allowed.get(folder) ?? 0));
  expect(above).toEqual([]);
  if (process.env.SHRINK_ALLOWANCE)
    writeFileSync(
      allowanceFile,
      `${JSON.stringify(Object.fromEntries([...counts].filter(([, count]) => count > 0).sort()), null, 2)}\n`,
    );
});
