import { timingSafeEqual } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { fetchRow, fetchRows, run, tables, type Connection } from '../postgres/statements.js';
import { withLock } from '../postgres/locks.js';
import { KeyedNames } from './keyed-names.js';
import { Keyring, type ServiceKeys } from './keyring.js';
import {
  KEY_PURPOSES,
  masterKeyId,
  purposeKey,
  wrappingKey,
  type KeyPurpose,
} from './master-key.js';
import { openBytes, sealBytes } from './sealed-bytes.js';

/** The master key does not belong to this database, or no longer. One line for the operator. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey';
}

/** A copy of one of the service's keys, for one master key. */
export interface ServiceKey {
  /** An unknown one belongs to a newer release. */
  readonly purpose: string;
  readonly generation: number;
  readonly key: Buffer;
}

/** The first ones derive from the first master key. @throws {WrongMasterKey} */
export async function openServiceKeys(pool: Pool, masterKey: Buffer): Promise<Keyring> {
  const id = masterKeyId(masterKey);
  if ((await currentMasterKey(pool)) === undefined) await storeFirstKeys(pool, masterKey);
  const mine = await fetchRow(
    pool,
    tables.selectFrom('vault.master_keys').select('retired_at').where('id', '=', id),
  );
  if (mine?.retired_at)
    throw new WrongMasterKey(
      `this master key was replaced and opens nothing any more: set MASTER_KEY_FILE to the file of key ${await currentMasterKey(pool)}`,
    );
  if (!mine)
    throw new WrongMasterKey(
      'the master key is not the one that this database was made with: restore the file from its backup',
    );
  await storeKeysOfNewPurposes(pool, masterKey);
  const read = (): Promise<ServiceKeys> => readKeys(pool, masterKey);
  const keyring = new Keyring(await read(), read);
  await checkNames(pool, keyring.fixed('stream-names'));
  return keyring;
}

/** The id of the master key in use; undefined: the database has none yet. */
export async function currentMasterKey(db: Connection): Promise<string | undefined> {
  const current = tables
    .selectFrom('vault.master_keys')
    .select('id')
    .orderBy('number', 'desc')
    .limit(1);
  return (await fetchRow(db, current))?.id;
}

/** Adds a master key and copies of the service's keys that it opens. */
export async function addMasterKey(
  client: PoolClient,
  masterKey: Buffer,
  keys: readonly ServiceKey[],
): Promise<void> {
  await run(client, tables.insertInto('vault.master_keys').values({ id: masterKeyId(masterKey) }));
  await storeKeys(client, masterKey, keys);
}

/** Stores copies of keys, encrypted with a master key. */
export async function storeKeys(
  client: PoolClient,
  masterKey: Buffer,
  keys: readonly ServiceKey[],
): Promise<void> {
  const wrapping = wrappingKey(masterKey);
  for (const { purpose, generation, key } of keys) {
    const wrapped = sealBytes(wrapping, key, contextOf(purpose, generation));
    const row = { purpose, generation, master_key: masterKeyId(masterKey), wrapped };
    await run(client, tables.insertInto('vault.service_keys').values(row));
  }
}

/** All keys that this master key opens, oldest generation first. */
export async function keysOf(db: Connection, masterKey: Buffer): Promise<readonly ServiceKey[]> {
  const rows = await fetchRows(
    db,
    tables
      .selectFrom('vault.service_keys')
      .select(['purpose', 'generation', 'wrapped'])
      .where('master_key', '=', masterKeyId(masterKey))
      .orderBy('generation'),
  );
  const wrapping = wrappingKey(masterKey);
  return rows.map(({ purpose, generation, wrapped }) => {
    const key = openBytes(wrapping, wrapped, contextOf(purpose, generation));
    return { purpose, generation, key };
  });
}

async function readKeys(pool: Pool, masterKey: Buffer): Promise<ServiceKeys> {
  const keys = new Map<KeyPurpose, Buffer[]>();
  for (const { purpose: name, key } of await keysOf(pool, masterKey)) {
    const purpose = KEY_PURPOSES.find((known) => known === name);
    if (purpose !== undefined) keys.set(purpose, [...(keys.get(purpose) ?? []), key]);
  }
  return keys;
}

/** Concurrent first processes store the same keys, since these are derived. */
async function storeFirstKeys(pool: Pool, masterKey: Buffer): Promise<void> {
  await checkNames(pool, purposeKey(masterKey, 'stream-names'));
  await withLock(pool, 'change master keys', async (client) => {
    if ((await currentMasterKey(client)) !== undefined) return;
    await addMasterKey(client, masterKey, firstKeys(masterKey, KEY_PURPOSES));
  });
}

const firstKeys = (masterKey: Buffer, purposes: readonly KeyPurpose[]): readonly ServiceKey[] =>
  purposes.map((purpose) => ({ purpose, generation: 1, key: purposeKey(masterKey, purpose) }));

/**
 * Makes the first keys of purposes that earlier releases did not have; while two master keys are in
 * use, for the newest one, which alone opens them.
 * @throws {WrongMasterKey} when another master key has such a key, or must make it.
 */
async function storeKeysOfNewPurposes(pool: Pool, masterKey: Buffer): Promise<void> {
  if ((await purposesWithout(pool, masterKey)).length === 0) return;
  await withLock(pool, 'change master keys', async (client) => {
    const purposes = await purposesWithout(client, masterKey);
    if (purposes.length === 0) return;
    const elsewhere = tables
      .selectFrom('vault.service_keys')
      .select('master_key')
      .where('purpose', 'in', purposes);
    const holder =
      (await fetchRow(client, elsewhere))?.master_key ?? (await currentMasterKey(client));
    // With a second first key, values of the existing one would be unreadable.
    if (holder !== masterKeyId(masterKey))
      throw new WrongMasterKey(
        `this release has keys that the master key ${holder} alone opens: set MASTER_KEY_FILE to its file`,
      );
    await storeKeys(client, masterKey, firstKeys(masterKey, purposes));
  });
}

async function purposesWithout(db: Connection, masterKey: Buffer): Promise<readonly KeyPurpose[]> {
  const stored = await fetchRows(
    db,
    tables
      .selectFrom('vault.service_keys')
      .select('purpose')
      .where('master_key', '=', masterKeyId(masterKey)),
  );
  const known = new Set(stored.map(({ purpose }) => purpose));
  return KEY_PURPOSES.filter((purpose) => !known.has(purpose));
}

/** Compares with the first process's digest: a wrong key would change every name. */
async function checkNames(pool: Pool, key: Buffer): Promise<void> {
  const digest = new KeyedNames(key).digest('master-key-check');
  await run(
    pool,
    tables
      .insertInto('ledger.identity')
      .values({ master_key_check: digest })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const identity = tables.selectFrom('ledger.identity').select('master_key_check');
  const row = await fetchRow(pool, identity);
  const known = Buffer.from(row?.master_key_check ?? '');
  const mine = Buffer.from(digest);
  if (known.length !== mine.length || !timingSafeEqual(known, mine))
    throw new WrongMasterKey(
      'the master key is not the one that this database was made with: restore the file from its backup',
    );
}

const contextOf = (purpose: string, generation: number): string => `${purpose}/${generation}`;
