import { execFile } from 'node:child_process';
import { lchown, readFile, readdir, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { type PostgresBinaries, copiedBinaries, packagedBinaries } from './postgres-binaries.js';

/** How the programs of Postgres are run: what stands before their command line, and which binaries. */
export interface PostgresAccount {
  readonly prefix: readonly string[];
  readonly binaries: PostgresBinaries;
}

interface Way {
  readonly prefix: readonly string[];
  /** Whose the files in the data folder must be, seen from outside. */
  readonly owner: number;
}

const run = promisify(execFile);

/**
 * Postgres refuses to run as uid 0, and DATA_DIR may be a root-only folder. Two ways out, both without touching the folder itself:
 * - a user namespace in which root's own files belong to an ordinary uid. Nothing is chowned, any path works.
 * - where namespaces are forbidden (a container's default seccomp profile): another uid that keeps the one capability of
 *   passing file permissions, with the database's files belonging to that uid.
 * Which way made the files is told by their owner, so later starts take the same one; if it is gone, the files change hands.
 * @throws {EmbeddedPostgresError} when no way works.
 */
export async function choosePostgresAccount(dataDir: string, pgdata: string): Promise<PostgresAccount> {
  const owner = await ownerOf(pgdata);
  const ways = await waysFor(owner);
  for (const binariesOf of [packagedBinaries, () => copiedBinaries(dataDir)]) {
    const binaries = await binariesOf();
    if (!binaries) continue;
    for (const way of ways) {
      if (!(await works(way, dataDir, binaries))) continue;
      if (owner !== undefined && owner !== way.owner) await handOver(pgdata, way.owner);
      return { prefix: way.prefix, binaries };
    }
  }
  throw new EmbeddedPostgresError(
    process.getuid?.() === 0
      ? 'Postgres does not run as root, and neither unshare (user namespaces) nor setpriv works here: start as another user or set DATABASE_URL'
      : `the embedded Postgres cannot be run on ${dataDir}: the folder must be writable and the binaries must run on this system; or set DATABASE_URL`,
  );
}

async function waysFor(owner: number | undefined): Promise<readonly Way[]> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) {
    if (owner !== undefined && owner !== uid) {
      throw new EmbeddedPostgresError(`the database files belong to uid ${owner}, not to the user that starts the service (uid ${uid})`);
    }
    const direct: Way = { prefix: [], owner: uid };
    // initdb wants a name for its uid; a container may run under a number that has none.
    return hasName() ? [direct] : [await userNamespace(uid), direct];
  }
  const namespace = await userNamespace(0);
  const other = otherUser(owner || (await unprivilegedUid()));
  return owner ? [other, namespace] : [namespace, other];
}

async function userNamespace(owner: number): Promise<Way> {
  const inside = await unprivilegedUid();
  return { prefix: ['unshare', '--user', `--map-user=${inside}`, `--map-group=${inside}`, '--'], owner };
}

function otherUser(uid: number): Way {
  const capability = '+dac_override';
  return {
    prefix: [
      'setpriv',
      `--reuid=${uid}`,
      `--regid=${uid}`,
      '--clear-groups',
      `--inh-caps=${capability}`,
      `--ambient-caps=${capability}`,
      '--',
    ],
    owner: uid,
  };
}

/** A uid that has a name (initdb looks it up) and is not root's. */
async function unprivilegedUid(): Promise<number> {
  const users = new Map<string, number>();
  try {
    for (const line of (await readFile('/etc/passwd', 'utf8')).split('\n')) {
      const [name, , uid] = line.split(':');
      if (name && uid && Number(uid) > 0) users.set(name, Number(uid));
    }
  } catch {
    // No such file: the number below is nobody's on every usual system.
  }
  return users.get('postgres') ?? users.get('nobody') ?? [...users.values()][0] ?? 65534;
}

function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

// Asked for real and at every start (some 6 ms): kernels, containers and file permissions forbid these things in too many ways to predict.
async function works(way: Way, dataDir: string, { postgres }: PostgresBinaries): Promise<boolean> {
  const [command = '/bin/sh', ...args] = [
    ...way.prefix,
    '/bin/sh',
    '-c',
    'cd -- "$1" && [ -w . ] && exec "$2" --version',
    'sh',
    dataDir,
    postgres,
  ];
  try {
    await run(command, args, { timeout: 10_000, env: { PATH: process.env.PATH, LC_ALL: 'C' } });
    return true;
  } catch {
    return false;
  }
}

async function ownerOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).uid;
  } catch {
    return undefined;
  }
}

async function handOver(path: string, owner: number): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await handOver(child, owner);
    else await lchown(child, owner, owner);
  }
  // The folder last: its owner says whose the files are, so an interrupted hand-over is taken up again.
  await lchown(path, owner, owner);
}
