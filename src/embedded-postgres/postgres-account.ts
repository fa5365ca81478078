import { execFile } from 'node:child_process';
import { lchown, readFile, readdir, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { type PostgresBinaries, packagedBinaries } from './postgres-binaries.js';

/** How the programs of Postgres are run: command prefix and binaries. */
export interface PostgresAccount {
  readonly prefix: readonly string[];
  readonly binaries: PostgresBinaries;
  /** `18.4`. */
  readonly version: string;
}

interface LaunchMethod {
  readonly prefix: readonly string[];
  /** The owner that the files in the data folder must have, seen from outside. */
  readonly owner: number;
}

const run = promisify(execFile);

/** The uid of the user without rights on usual systems. */
const NO_RIGHTS = 65_534;

/**
 * Postgres refuses to run as uid 0, and DATA_DIR may be a root-only folder. Two ways out, both
 * without touching the folder itself:
 * - a user namespace in which root's own files belong to an ordinary uid. Nothing is chowned, any
 * path works.
 * - where namespaces are forbidden (a container's default seccomp profile): another uid that keeps
 * the one capability of passing file permissions; it owns the database's files. The files' owner
 * shows which way created them, so later starts take the same one; if that one no longer works, the
 * files change owner.
 * @throws {EmbeddedPostgresError} when no way works.
 */
export async function choosePostgresAccount(
  dataDir: string,
  pgdata: string,
): Promise<PostgresAccount> {
  const owner = await ownerOf(pgdata);
  const ways = await launchMethods(owner);
  const binaries = await packagedBinaries();
  if (binaries)
    for (const way of ways) {
      // Prints the locations and ends: shows whether the binaries find each other, and whether the
      // uid has a name.
      const said = await runTrial(way, dataDir, [binaries.initdb, '--show', `--pgdata=${pgdata}`]);
      const version = said && /^VERSION=(\S+)/m.exec(said)?.[1];
      if (!version) continue;
      if (owner !== undefined && owner !== way.owner) await changeOwner(pgdata, way.owner);
      return { prefix: way.prefix, binaries, version };
    }
  throw new EmbeddedPostgresError(
    process.getuid?.() === 0
      ? 'Postgres does not run as root, and neither unshare (user namespaces) nor setpriv works here: start as another user or set DATABASE_URL'
      : `the embedded Postgres cannot be run on ${dataDir}: the folder must be writable, and the binaries in node_modules complete (npm rebuild) and able to run on this system; or set DATABASE_URL`,
  );
}

async function launchMethods(owner: number | undefined): Promise<readonly LaunchMethod[]> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) {
    if (owner !== undefined && owner !== uid) {
      throw new EmbeddedPostgresError(
        `the database files belong to uid ${owner}, not to the user that starts the service (uid ${uid})`,
      );
    }
    const direct: LaunchMethod = { prefix: [], owner: uid };
    // initdb needs a name for its uid; a container may run under a uid without one.
    return hasName() ? [direct] : [await userNamespace(uid), direct];
  }
  const namespace = await userNamespace(0);
  const others = otherUser(owner === undefined || owner === 0 ? await unprivilegedUid() : owner);
  return owner ? [...others, namespace] : [namespace, ...others];
}

async function userNamespace(owner: number): Promise<LaunchMethod> {
  const inside = await unprivilegedUid();
  return {
    prefix: ['unshare', '--user', `--map-user=${inside}`, `--map-group=${inside}`, '--'],
    owner,
  };
}

function otherUser(uid: number): readonly LaunchMethod[] {
  const capability = '+dac_override';
  const become = [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${uid}`,
    '--clear-groups',
    `--inh-caps=${capability}`,
    `--ambient-caps=${capability}`,
  ];
  return [
    // Postgres calls access(2) for its own programs, which ignores capabilities for every uid but 0
    // unless this bit is set.
    { prefix: [...become, '--securebits=+no_setuid_fixup', '--'], owner: uid },
    { prefix: [...become, '--'], owner: uid },
  ];
}

/** A uid with a name (initdb reads it) that is not root's. */
async function unprivilegedUid(): Promise<number> {
  const users = new Map<string, number>();
  try {
    for (const line of (await readFile('/etc/passwd', 'utf8')).split('\n')) {
      const [name, , uid] = line.split(':');
      if (name && uid && Number(uid) > 0) users.set(name, Number(uid));
    }
  } catch {
    // Without the file, the last uid below is the best guess.
  }
  const uids = [...users.values()];
  return users.get('postgres') ?? uids.find((uid) => uid === NO_RIGHTS) ?? uids[0] ?? NO_RIGHTS;
}

function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

/**
 * Output of the program when run that way in the data folder; undefined: it failed. Tried at every
 * start (some 20 ms): kernels, containers and file permissions forbid these ways unpredictably.
 */
async function runTrial(
  way: LaunchMethod,
  dataDir: string,
  program: readonly string[],
): Promise<string | undefined> {
  const script = 'cd -- "$1" && [ -w . ] && shift && exec "$@"';
  const [command = '/bin/sh', ...args] = [
    ...way.prefix,
    '/bin/sh',
    '-c',
    script,
    'sh',
    dataDir,
    ...program,
  ];
  try {
    const { stdout, stderr } = await run(command, args, {
      timeout: 10_000,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    return stdout + stderr;
  } catch {
    return undefined;
  }
}

async function ownerOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).uid;
  } catch {
    return undefined;
  }
}

async function changeOwner(path: string, owner: number): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await changeOwner(child, owner);
    else await lchown(child, owner, owner);
  }
  // The folder last: its owner is that of the files, so an interrupted change of owner is resumed.
  await lchown(path, owner, owner);
}
