import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import {
  projectRoot,
  startServiceProcess,
  type ServiceProcess,
} from '../../test/harness/service-process.js';

const execute = promisify(execFile);

/** A release of the service, built in a folder of its own. */
export interface BuiltRelease {
  readonly name: string;
  readonly root: string;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/** The file that names the commit of the previous release. */
const PREVIOUS = 'test/releases/previous/commit';
const BUILD = 'scripts/build-if-stale.mjs';
const SOURCES = ['src', 'projections', 'migrations', 'bench', 'simulator', 'scripts'];

/** This release: what this program was built from. */
export const presentRelease = (): BuiltRelease => ({ name: 'this release', root: projectRoot() });

/**
 * The previous release, built in a git worktree in this folder. @throws when the commit is missing
 * or does not build.
 */
export async function buildPreviousRelease(folder: string): Promise<BuiltRelease> {
  const here = projectRoot();
  const commit = (await readFile(join(here, PREVIOUS), 'utf8')).trim();
  const root = join(folder, 'previous');
  await execute('git', ['worktree', 'add', '--force', '--detach', root, commit], { cwd: here });
  if (await hasAllLibraries(here, root))
    await symlink(join(here, 'node_modules'), join(root, 'node_modules'));
  else await execute('npm', ['ci', '--silent', '--no-audit', '--no-fund'], { cwd: root });
  await execute(process.execPath, [BUILD], { cwd: root });
  return { name: `the previous release (${commit.slice(0, 8)})`, root };
}

const lockFile = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional() })),
});

/** Whether the libraries here are those of the release in the folder, in the same versions. */
async function hasAllLibraries(here: string, root: string): Promise<boolean> {
  const [ours, theirs] = await Promise.all(
    [here, root].map(async (each) => {
      const text = await readFile(join(each, 'package-lock.json'), 'utf8');
      return lockFile.parse(JSON.parse(text)).packages;
    }),
  );
  return Object.entries(theirs ?? {}).every(
    ([path, { version }]) => path === '' || ours?.[path]?.version === version,
  );
}

/** Removes the worktree; the folder is the caller's. */
export async function removePreviousRelease({ root }: BuiltRelease): Promise<void> {
  await rm(join(root, 'node_modules'), { force: true, recursive: true });
  await execute('git', ['worktree', 'remove', '--force', root], { cwd: projectRoot() });
}

const NEXT_MIGRATION = '9999_name_the_next_release';

/**
 * A release after this one: every table of every read model has one more index, and there is one
 * more migration.
 */
export async function buildNextRelease(folder: string): Promise<BuiltRelease> {
  const here = projectRoot();
  const root = join(folder, 'next');
  await mkdir(root, { recursive: true });
  const files = (await readdir(here)).filter((name) => /^(package|tsconfig).*json$/.test(name));
  for (const name of [...SOURCES, ...files])
    await cp(join(here, name), join(root, name), { recursive: true });
  await symlink(join(here, 'node_modules'), join(root, 'node_modules'));
  for (const readModel of await readdir(join(root, 'projections'))) {
    const path = join(root, 'projections', readModel, 'table.ts');
    const source = await readFile(path, 'utf8').catch(() => undefined);
    if (source !== undefined)
      await writeFile(
        path,
        source.replaceAll('indexes: {', "indexes: { of_next: { definition: '(tenant)' },"),
      );
  }
  await addMigration(root);
  await execute(process.execPath, [BUILD], { cwd: root });
  return { name: 'the next release', root };
}

async function addMigration(root: string): Promise<void> {
  await writeFile(
    join(root, 'migrations', `${NEXT_MIGRATION}.ts`),
    `import { sql, type Kysely } from 'kysely';
     export async function up(db: Kysely<unknown>): Promise<void> {
       await sql\`alter table ledger.call_counts add column next_release text\`.execute(db);
     }`,
  );
  const path = join(root, 'src/postgres/migrator.ts');
  const list = 'export const MIGRATIONS: Migrations = {';
  const source = await readFile(path, 'utf8');
  if (!source.includes(list)) throw new Error(`${path} has no list of migrations`);
  await writeFile(
    path,
    `import * as next from '../../migrations/${NEXT_MIGRATION}.js';\n` +
      source.replace(list, `${list}\n  '${NEXT_MIGRATION}': next,`),
  );
}

/** Starts its service; it is up when `ready` says so. */
export const startRelease = (
  { root }: BuiltRelease,
  env: Environment,
  onOutput?: (text: string) => void,
): Promise<ServiceProcess> =>
  startServiceProcess({ root, env, ...(onOutput === undefined ? {} : { onOutput }) });

/** Runs a command of its command line. */
export async function runCommand(
  { root }: BuiltRelease,
  env: Environment,
  words: readonly string[],
): Promise<CommandResult> {
  const PATH = process.env.PATH ?? '';
  try {
    const { stdout, stderr } = await execute(
      process.execPath,
      [join(root, 'dist/bin/cli.js'), ...words],
      { cwd: root, env: { PATH, ...env }, maxBuffer: 64 * 1024 * 1024 },
    );
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout, stderr };
  }
}
