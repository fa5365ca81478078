import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** The classes that the other suites test are those of dist/, member by member. */
const root = join(__dirname, '..', '..');
const support = join(root, 'test/support/class-descriptions.cjs');
const requireHere = createRequire(__filename);

type Descriptions = Readonly<Record<string, unknown>>;
const { describeClasses } = requireHere(support) as {
  describeClasses(exported: object): Descriptions;
};

/** Programs: they start when they are loaded. */
const PROGRAMS: readonly string[] = ['src/process/main', 'src/cli/cli'];

const modules = ['src', 'projections'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => join(folder, file.slice(0, -'.ts'.length)))
    .filter((module) => !PROGRAMS.includes(module))
    .sort(),
);

const PROGRAM = `
  import 'reflect-metadata';
  import { createRequire } from 'node:module';
  const [support, ...modules] = process.argv.slice(1);
  const { describeClasses } = createRequire(support)(support);
  const described = {};
  for (const module of modules) described[module] = describeClasses(await import(module));
  process.stdout.write(JSON.stringify(described), () => process.exit(0));
`;

async function describeShipped(): Promise<Readonly<Record<string, Descriptions>>> {
  const urls = new Map(
    modules.map((module) => [pathToFileURL(join(root, 'dist', `${module}.js`)).href, module]),
  );
  const args = ['--input-type=module', '-e', PROGRAM, support, ...urls.keys()];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const described = JSON.parse(stdout) as Readonly<Record<string, Descriptions>>;
  return Object.fromEntries(
    Object.entries(described).map(([url, classes]) => [urls.get(url) ?? url, classes]),
  );
}

test('every class that is tested is the class that ships', async () => {
  const shipped = await describeShipped();
  const tested = Object.fromEntries(
    modules.map((module) => [module, describeClasses(requireHere(join(root, module)) as object)]),
  );
  expect(Object.values(shipped).flatMap((classes) => Object.keys(classes)).length).toBeGreaterThan(
    100,
  );
  expect(shipped['src/http/users/user.request']).toMatchObject({
    UserRequest: { own: expect.arrayContaining(['email: undefined']) as unknown },
  });
  expect(JSON.parse(JSON.stringify(tested))).toEqual(shipped);
});
