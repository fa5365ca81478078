import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage, hasCode } from '../foundation/error-code.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** Part of the socket's file name; constant, as the server listens on no TCP port. */
export const SOCKET_PORT = 5432;
const SOCKET_FILE = `.s.PGSQL.${SOCKET_PORT}`;
/** The system's limit for the path of a socket, in bytes, without the closing NUL. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'darwin' ? 103 : 107;

/**
 * The folder of the server's socket, made when missing, for its owner only: inside the data folder,
 * or in the system's temporary directory where the path would be too long. The server's own file
 * names it for processes that attach.
 * @param dataDir absolute, without symbolic links.
 * @throws {EmbeddedPostgresError} when there is no place for it, or others can enter it.
 */
export async function makeSocketFolder(dataDir: string): Promise<string> {
  const inside = join(dataDir, 'socket');
  try {
    if (!isShortEnough(inside)) return await makeTemporaryFolder();
    await mkdir(inside, { mode: 0o700 }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    throw new EmbeddedPostgresError(`cannot make the folder of the socket: ${errorMessage(error)}`);
  }
  await refuseOpenFolder(inside);
  return inside;
}

/** @throws {EmbeddedPostgresError} for another user's folder: it would get the password. */
export async function refuseOpenFolder(folder: string): Promise<void> {
  const about = await lstat(folder);
  const uid = process.getuid?.() ?? about.uid;
  if (!about.isDirectory() || about.uid !== uid || (about.mode & 0o077) !== 0)
    throw new EmbeddedPostgresError(
      `${folder} must be a folder of the user who starts the service, with mode 0700: the embedded Postgres listens there`,
    );
}

/** Only while no server runs: a killed one left a process id in its lock file. */
export async function removeStaleSocket(folder: string): Promise<void> {
  for (const name of [SOCKET_FILE, `${SOCKET_FILE}.lock`])
    await rm(join(folder, name), { force: true });
}

const isShortEnough = (folder: string): boolean =>
  Buffer.byteLength(join(folder, SOCKET_FILE)) <= SOCKET_PATH_BYTES_MAX;

async function makeTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  if (isShortEnough(folder)) return folder;
  await rm(folder, { recursive: true });
  throw new EmbeddedPostgresError(
    `the paths of DATA_DIR and of the temporary directory (TMPDIR) are both too long for a socket: at most ${SOCKET_PATH_BYTES_MAX} bytes with its name`,
  );
}
