import { hkdfSync, randomBytes } from 'node:crypto';
import { link, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.js';
import { errorCode, hasCode } from '../foundation/error-code.js';

/** The master key cannot be used; one line for the operator, without a byte of the key. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError';
}

/** Their key stays: names of streams and signatures in the log depend on it. */
export type FixedPurpose = 'stream-names' | 'chain-signing';
/** Their key is replaced with the master key. */
export type RotatedPurpose =
  'key-wrapping' | 'api-keys' | 'idempotency' | 'webhook-signing' | 'webhooks' | 'webhook-answers';
/** One key never serves two purposes. */
export type KeyPurpose = FixedPurpose | RotatedPurpose;

export const ROTATED_PURPOSES: readonly RotatedPurpose[] = [
  'key-wrapping',
  'api-keys',
  'idempotency',
  'webhook-signing',
  'webhooks',
  'webhook-answers',
];
export const KEY_PURPOSES: readonly KeyPurpose[] = [
  'stream-names',
  'chain-signing',
  ...ROTATED_PURPOSES,
];

const KEY_BYTES = 32;

/**
 * Reads the master key: 32 bytes as 64 hex digits in a file that only its owner can read. With the
 * embedded Postgres a missing one is made, but only before the database exists (so before Postgres
 * is started): a new key for old data would silently make every personal field unreadable.
 * @throws {MasterKeyError} when it is missing, readable for others, or not a key.
 */
export async function loadMasterKey(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'masterKeyFile'>,
): Promise<Buffer> {
  const path = config.masterKeyFile;
  const known = await readKey(path);
  if (known) return known;
  if (config.databaseUrl !== undefined)
    throw new MasterKeyError(
      `the master key file ${path} does not exist: MASTER_KEY_FILE must name the key of this ledger; for a new ledger, make one with (umask 077; openssl rand -hex 32 > ${path})`,
    );
  if (await exists(join(config.dataDir, 'postgres', 'PG_VERSION'))) {
    throw new MasterKeyError(
      `the master key file ${path} is missing, and ${config.dataDir} holds data encrypted with it: restore the file from its backup`,
    );
  }
  await makeKey(path);
  const made = await readKey(path);
  if (!made)
    throw new MasterKeyError(`the master key file ${path} was removed while the service started`);
  return made;
}

/** Reads another master key than the configured one. @throws {MasterKeyError} */
export async function readMasterKeyFile(path: string): Promise<Buffer> {
  const key = await readKey(path);
  if (!key) throw new MasterKeyError(`the master key file ${path} does not exist`);
  return key;
}

/** Names a master key without revealing it, 16 hex digits. */
export const masterKeyId = (masterKey: Buffer): string =>
  derived(masterKey, 'master-key-id').subarray(0, 8).toString('hex');

/** The key that encrypts the service's keys, 32 bytes. */
export const wrappingKey = (masterKey: Buffer): Buffer => derived(masterKey, 'service-keys');

/** The first key for one purpose, 32 bytes, derived from the database's first master key. */
export const purposeKey = (masterKey: Buffer, purpose: KeyPurpose): Buffer =>
  derived(masterKey, purpose);

/** By HKDF-SHA256. */
function derived(
  masterKey: Buffer,
  purpose: KeyPurpose | 'master-key-id' | 'service-keys',
): Buffer {
  return Buffer.from(
    hkdfSync('sha256', masterKey, Buffer.alloc(0), `referral-ledger/${purpose}`, KEY_BYTES),
  );
}

async function readKey(path: string): Promise<Buffer | undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new MasterKeyError(
      `cannot read the master key file ${path}: ${hasCode(error, 'EACCES') ? 'permission denied' : (errorCode(error) ?? 'unknown error')}`,
    );
  });
  if (!file) return undefined;
  try {
    const about = await file.stat();
    if (!about.isFile()) throw new MasterKeyError(`the master key file ${path} is not a file`);
    if ((about.mode & 0o077) !== 0) {
      throw new MasterKeyError(
        `the master key file ${path} has mode ${(about.mode & 0o777).toString(8)}: others can read it; chmod 600 it`,
      );
    }
    const content = (await file.readFile('utf8')).trim();
    if (!/^[0-9a-f]{64}$/i.test(content))
      throw new MasterKeyError(
        `the master key file ${path} must hold 32 bytes as 64 hex digits, nothing else`,
      );
    return Buffer.from(content, 'hex');
  } finally {
    await file.close();
  }
}

/** Linked when complete: concurrent first starts share it, and a crash leaves none. */
async function makeKey(path: string): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(KEY_BYTES).toString('hex')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(aside, path);
    const folder = await open(dirname(path), 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!hasCode(error, 'EEXIST'))
      throw new MasterKeyError(
        `cannot make the master key file ${path}: ${errorCode(error) ?? 'unknown error'}`,
      );
  } finally {
    await rm(aside, { force: true }).catch(() => undefined);
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
