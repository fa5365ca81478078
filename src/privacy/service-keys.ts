import { timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { fetchRow, fetchRows, run, tables, type Connection } from '../postgres/statements.js';
import { inTransaction } from '../postgres/transaction.js';
import { KeyedNames } from './keyed-names.js';
import { Keyring, type ReadKeys } from './keyring.js';
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

/** The migration that names keys: while it is not confirmed, an older release may start again. */
const NAMING_MIGRATION = '0044_name_keys';

const CHANGES_LOCK = `select pg_advisory_xact_lock(hashtext('change master keys'))`;

/** A copy of one of the service's keys, for one master key. */
export interface ServiceKey {
  readonly purpose: KeyPurpose;
  readonly generation: number;
  readonly key: Buffer;
}

/**
 * The service's keys of this database, which this master key opens. A database without any has its
 * first ones derived from its first master key, which releases before this table used directly.
 * @throws {WrongMasterKey}
 */
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
  const read = (): Promise<ReadKeys> => readKeys(pool, masterKey);
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

/** One change of master keys and of the service's keys at a time. */
export function changingMasterKeys<T>(
  pool: Pool,
  change: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query(CHANGES_LOCK);
    return change(client);
  });
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
  return rows.flatMap(({ purpose: name, generation, wrapped }) => {
    const purpose = KEY_PURPOSES.find((known) => known === name);
    // A newer release may have further ones.
    if (purpose === undefined) return [];
    const key = openBytes(wrapping, wrapped, contextOf(purpose, generation));
    return [{ purpose, generation, key }];
  });
}

/** Whether the migration that names keys is confirmed: no older release runs here any more. */
export async function namesAreConfirmed(db: Connection): Promise<boolean> {
  const row = await fetchRow(
    db,
    sql<{
      confirmed: boolean;
    }>`select exists (select from ledger.migration where name = ${NAMING_MIGRATION}) as confirmed`,
  );
  return row?.confirmed ?? false;
}

async function readKeys(pool: Pool, masterKey: Buffer): Promise<ReadKeys> {
  const confirmed = await namesAreConfirmed(pool);
  const keys = new Map<KeyPurpose, Buffer[]>();
  for (const { purpose, key } of await keysOf(pool, masterKey))
    keys.set(purpose, [...(keys.get(purpose) ?? []), key]);
  return { keys, confirmed };
}

/** Several first processes store the same: the keys are derived. */
async function storeFirstKeys(pool: Pool, masterKey: Buffer): Promise<void> {
  await checkNames(pool, purposeKey(masterKey, 'stream-names'));
  await changingMasterKeys(pool, async (client) => {
    if ((await currentMasterKey(client)) !== undefined) return;
    await addMasterKey(
      client,
      masterKey,
      KEY_PURPOSES.map((purpose) => ({
        purpose,
        generation: 1,
        key: purposeKey(masterKey, purpose),
      })),
    );
  });
}

/**
 * The first process stores a digest of its key for names; later ones compare. A wrong key would
 * change every name and lose every person.
 */
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

const contextOf = (purpose: KeyPurpose, generation: number): string => `${purpose}/${generation}`;
