import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, hasCode } from '../foundation/error-code.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** Mode 0700. @throws {EmbeddedPostgresError} when it cannot be made or written. */
export async function makeDataFolder(dataDir: string): Promise<void> {
  const refuse = (error: unknown): never => {
    const reason = REASONS.get(errorCode(error) ?? '') ?? errorCode(error) ?? 'unknown error';
    throw new EmbeddedPostgresError(
      `DATA_DIR ${dataDir} cannot be used (${reason}): choose a folder that this user may write, for example DATA_DIR=$HOME/ledger npm start`,
    );
  };
  await makeFolder(dataDir).catch(refuse);
  await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).catch(refuse);
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['ENOENT', 'no folder can be made there'],
  ['ENOTDIR', 'a part of the path is a file'],
  ['EEXIST', 'a file has this name'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
]);

/** Node's recursive `mkdir` never ends where the parent exists and accepts no folder (`/proc`). */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'EEXIST') && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if (!hasCode(error, 'ENOENT') || (await isThere(parent))) throw error;
    await makeFolder(parent);
    await makeFolder(path);
  }
}

export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
