import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { CURRENT_VERSIONS } from '../../src/event-log/event-schemas.js';

/**
 * What neither the compiler nor the linter sees. Each rule says in its name what to do about it.
 */
const root = join(__dirname, '..', '..');

function filesBelow(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(path) : [path];
    })
    .sort();
}

function listedTexts(): string[] {
  const output = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' });
  return output
    .split('\n')
    .filter(
      (path) => /\.(?:[cm]?[jt]s|md|ya?ml|json|sh)$/.test(path) && existsSync(join(root, path)),
    );
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const shipped = ['src', 'projections', 'migrations', 'bench', 'simulator', 'tools']
  .flatMap(filesBelow)
  .filter((path) => path.endsWith('.ts'));
const tests = filesBelow('test').filter((path) => path.endsWith('.ts'));
const typescript = [...shipped, ...tests];
const self = 'test/architecture/house-rules.test.ts';

/** Lines that match, as `file:line text`, so that a failure can be clicked. */
function lines(files: readonly string[], pattern: RegExp): string[] {
  return files
    .filter((file) => file !== self)
    .flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) =>
          pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
        ),
    );
}

it('tests of one server end only sessions of clients on their own database, since other files run at the same time', () => {
  const endings = tests
    .filter((file) => file !== self)
    .flatMap((file) =>
      [...read(file).matchAll(/pg_terminate_backend\(pid\b[^;]*/g)].map(
        ([statement]) => `${file}: ${statement}`,
      ),
    );
  const bounded = /current_database\(\)|where pid = \$1/;
  // The server's own workers are listed with the clients, but hold no advisory locks.
  const ofClients = /client backend|pg_locks|query ~\*|where pid = \$1/;
  expect(endings.filter((ending) => !bounded.test(ending) || !ofClients.test(ending))).toEqual([]);
  expect(endings).not.toEqual([]);
});

it('names of files describe the contents: no utils, helpers, common, shared, no barrels', () => {
  const vague =
    /(^|[/.-])(utils?|helpers?|common|shared|misc|base|impl|manager|types)([/.-]|$)|(^|\/)index\.ts$/;
  expect(typescript.filter((path) => vague.test(path))).toEqual([]);
});

it('names of files are kebab-case, with a known role after the first dot', () => {
  const roles =
    'decider|events|facts|state|controller|guard|strategy|d|request|response|operations|module|contract|test|policy|projector|page|template|property';
  const migration = /^migrations\/\d{4}(_[a-z0-9]+)+\.ts$/;
  const other = new RegExp(
    `^([a-z0-9-]+/)+[a-z][a-z0-9]*(-[a-z0-9]+)*(\\.(${roles}))?(\\.test)?\\.ts$`,
  );
  expect(
    typescript.filter((path) => !(path.startsWith('migrations/') ? migration : other).test(path)),
  ).toEqual([]);
});

it('names of files of a read model are table.ts, projector.ts and queries.ts', () => {
  const folders = [
    ...new Set(
      shipped.filter((path) => /^projections\/[^/]+\//.test(path)).map((path) => dirname(path)),
    ),
  ];
  const missing = folders.flatMap((folder) =>
    ['table.ts', 'projector.ts', 'queries.ts'].map((name) => `${folder}/${name}`),
  );
  expect(missing.filter((path) => !shipped.includes(path))).toEqual([]);
});

it('names of files of controllers, requests and responses are below src/console, src/http or src/presenting', () => {
  expect(
    shipped.filter(
      (path) =>
        /\.(controller|request|response)\.ts$/.test(path) &&
        !/^src\/(console|http|presenting)\//.test(path),
    ),
  ).toEqual([]);
});

it('code does not silence the compiler, and the linter only with a reason (-- why)', () => {
  expect(lines(typescript, /@ts-(ignore|nocheck|expect-error)/)).toEqual([]);
  expect(lines(typescript, /eslint-disable(?!.* -- \S)/)).toEqual([]);
});

it('code has no to-do notes', () => {
  const found = lines(typescript, /\b(TODO|FIXME|XXX|HACK)\b|not (yet )?implemented/);
  // A currency of ISO 4217 has such a name.
  expect(found.filter((line) => !line.startsWith('src/domain/currencies.ts'))).toEqual([]);
});

it('code does not name a machine, its paths or its package registry', () => {
  const texts = [
    ...typescript,
    ...filesBelow('scripts'),
    ...filesBelow('docs'),
    'package.json',
    'jest.config.cjs',
    'eslint.config.mjs',
  ];
  expect(lines(texts, /["'`\s(](\/work\/|\/home\/|\/Users\/|\/root\/)/)).toEqual([]);
  expect(lines(['package-lock.json'], /"resolved":/)).toEqual([]);
});

it('tests all run, except cases that a log cannot be brought to, which the contract skips with a reason', () => {
  // The others say which program or right is missing.
  const free = [
    'test/event-log/event-log.contract.ts',
    'test/blackbox/guides.test.ts',
    'test/faults/image-steps.test.ts',
    'test/faults/nginx-configuration.test.ts',
  ];
  const bound = tests.filter((file) => !free.includes(file));
  expect(
    lines(bound, /\b(describe|it|test)\.(only|skip|todo)\b|\b(xit|xdescribe|fit|fdescribe)\(/),
  ).toEqual([]);
});

it('tests wait for conditions, only through test/support and test/harness', () => {
  const files = tests.filter((path) => !/^test\/(support|harness)\//.test(path));
  expect(
    lines(files, /await (delay|sleep|pause|wait)\(|setTimeout\((resolve|done|r),|timers\/promises/),
  ).toEqual([]);
});

it('events are named by what happened in the words of the business, never as updates', () => {
  const types = Object.keys(CURRENT_VERSIONS);
  expect(
    types.filter(
      (type) =>
        /(Updated|Modified|Edited|Saved|Set|Deleted)$/.test(type) &&
        type !== 'PaymentProviderIdSet',
    ),
  ).toEqual([]);
  expect(types.filter((type) => !/^([A-Z][a-z]+)+$/.test(type))).toEqual([]);
});

const frozen = z
  .record(z.string(), z.string())
  .parse(JSON.parse(read('docs/generated/migrations.json')));
const files = filesBelow('migrations').map((path) => relative('migrations', path));

it('migrations each have their own number', () => {
  const numbers = files.map((file) => file.slice(0, 4));
  expect(numbers).toEqual([...new Set(numbers)].sort());
});

it('migrations are frozen once recorded; a new one is recorded by `npm run migrations:freeze`', () => {
  const now = Object.fromEntries(
    files.map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(root, 'migrations', file)))
        .digest('hex'),
    ]),
  );
  expect(now).toEqual(frozen);
});

const pages = [...filesBelow('docs'), ...readdirSync(root)].filter((path) => path.endsWith('.md'));
const records = filesBelow('docs/adr')
  .map((path) => path.replace('docs/adr/', ''))
  .filter((name) => name !== 'README.md');

it('documents have one number for each decision', () => {
  const numbers = records.map((name) => name.slice(0, 4));
  expect(numbers).toEqual([...new Set(numbers)].sort());
});

it('documents of decisions have at most 40 lines, in four sections, and a line in the index', () => {
  const index = read('docs/adr/README.md');
  const wrong = records.filter((name) => {
    const text = read(`docs/adr/${name}`);
    const sections = [...text.matchAll(/^## (.*)$/gm)].map(([, section]) => section);
    return (
      text.split('\n').length > 41 ||
      sections.join() !== 'Context,Decision,Consequences,Rejected' ||
      !index.includes(`[${Number(name.slice(0, 4))}](${name})`)
    );
  });
  expect(wrong).toEqual([]);
});

it('documents and code name decision records that exist', () => {
  // A frozen migration names the record of its day.
  const texts = listedTexts().filter((path) => path !== self && !path.startsWith('migrations/'));
  const named = texts.flatMap((path) =>
    [...read(path).matchAll(/\badr\/(\d{4}(?:-[a-z0-9-]+\.md)?)/g)].map(([, name = '']) => ({
      path,
      name,
    })),
  );
  expect(named).not.toEqual([]);
  expect(named.filter(({ name }) => !records.some((record) => record.startsWith(name)))).toEqual(
    [],
  );
});

it('headings of documents and titles of tests name their subject', () => {
  const vague =
    /^(?:#+ (?:\d+\. )?|\s*(?:it|test|describe)(?:\.each\(.*\))?\(['"`])(?:who(?:ever)?|what(?:ever)?|whose|those that|that which)\b/i;
  expect(lines([...pages, ...tests], vague)).toEqual([]);
});

it('documents give a reason for every dependency', () => {
  const { dependencies, devDependencies } = z
    .object({
      dependencies: z.record(z.string(), z.string()),
      devDependencies: z.record(z.string(), z.string()),
    })
    .parse(JSON.parse(read('package.json')));
  const reasons = read('docs/dependencies.md');
  const declared = [...Object.keys(dependencies), ...Object.keys(devDependencies)];
  expect(declared.filter((name) => !reasons.includes(`\`${name}\``))).toEqual([]);
  const named = [...reasons.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  expect(named.filter((name) => !declared.includes(name))).toEqual([]);
});

it('documents name sources that exist', () => {
  const path = /`((?:src|test|scripts|projections|bench|tools|simulator)\/[\w./-]+\.\w+)`/g;
  const missing = pages
    .filter((page) => page !== 'CHANGELOG.md')
    .flatMap((page) => [...read(page).matchAll(path)].map(([, name = '']) => `${page}: ${name}`))
    .filter((named) => !existsSync(join(root, named.slice(named.indexOf(': ') + 2))));
  expect(missing).toEqual([]);
});

it('documents link to files that exist', () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});
