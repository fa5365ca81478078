import { lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage, hasCode } from '../foundation/error-code.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** Part of the socket's file name; the same everywhere, as the server listens on no TCP port. */
export const SOCKET_PORT = 5432;
const SOCKET_FILE = `.s.PGSQL.${SOCKET_PORT}`;
/** The system's limit for the path of a socket, in bytes, without the closing NUL. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'darwin' ? 103 : 107;

/** In the data folder: the socket's folder, or the file that names where it is. */
const FOLDER = 'socket';
const NAMING_FILE = 'socket-folder';

/**
 * The folder of the server's socket, made when missing, for its owner only: inside the data folder,
 * or, where the socket's path would be too long, in the system's temporary directory. A file in the
 * data folder then names it, for the processes that attach.
 * @param dataDir absolute, without symbolic links.
 * @throws {EmbeddedPostgresError} when there is no place for it, or others can get into it.
 */
export async function makeSocketFolder(dataDir: string): Promise<string> {
  const inside = join(dataDir, FOLDER);
  try {
    if (isShortEnough(inside)) {
      await mkdir(inside, { mode: 0o700 }).catch((error: unknown) => {
        if (!hasCode(error, 'EEXIST')) throw error;
      });
      await refuseOpenFolder(inside);
      return inside;
    }
    return (await namedFolder(dataDir)) ?? (await makeTemporaryFolder(dataDir));
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    throw new EmbeddedPostgresError(`cannot make the folder of the socket: ${errorMessage(error)}`);
  }
}

/**
 * Another user must not be able to put a socket of its own there: its server would be sent the
 * password.
 * @throws {EmbeddedPostgresError} when the folder is another user's, or open to others.
 */
export async function refuseOpenFolder(folder: string): Promise<void> {
  const about = await lstat(folder);
  const uid = process.getuid?.() ?? about.uid;
  if (!about.isDirectory() || about.uid !== uid || (about.mode & 0o077) !== 0)
    throw new EmbeddedPostgresError(
      `${folder} must be a folder of the user who starts the service, with mode 0700: the embedded Postgres listens there`,
    );
}

/**
 * Removes what a server that was killed left in its folder: its lock names a process id that
 * another program may have by now. Only while no server of the data folder runs.
 */
export async function removeStaleSocket(folder: string): Promise<void> {
  for (const name of [SOCKET_FILE, `${SOCKET_FILE}.lock`])
    await rm(join(folder, name), { force: true });
}

/** Removes the folder in the temporary directory, if there is one. Only after the server's end. */
export async function removeTemporaryFolder(dataDir: string): Promise<void> {
  const folder = await namedFolder(dataDir).catch(() => undefined);
  if (folder === undefined) return;
  await rm(folder, { recursive: true, force: true });
  await rm(join(dataDir, NAMING_FILE), { force: true });
}

const isShortEnough = (folder: string): boolean =>
  Buffer.byteLength(join(folder, SOCKET_FILE)) <= SOCKET_PATH_BYTES_MAX;

/**
 * The folder that the file names; undefined when it is gone, or belongs to the data folder of which
 * this one is a copy.
 */
async function namedFolder(dataDir: string): Promise<string | undefined> {
  const text = await readFile(join(dataDir, NAMING_FILE), 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  });
  const [folder = '', of = ''] = text.split('\n');
  if (folder === '' || of !== dataDir) return undefined;
  try {
    await refuseOpenFolder(folder);
    return folder;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || error instanceof EmbeddedPostgresError) return undefined;
    throw error;
  }
}

async function makeTemporaryFolder(dataDir: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  if (!isShortEnough(folder)) {
    await rm(folder, { recursive: true });
    throw new EmbeddedPostgresError(
      `the paths of DATA_DIR and of the temporary directory (TMPDIR) are both too long for a socket: at most ${SOCKET_PATH_BYTES_MAX} bytes with its name`,
    );
  }
  const path = join(dataDir, NAMING_FILE);
  await writeFile(`${path}.new`, `${folder}\n${dataDir}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  return folder;
}
