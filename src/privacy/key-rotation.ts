import { sql } from 'kysely';
import type { Pool } from 'pg';
import { newBytes } from '../foundation/world.js';
import { withLock } from '../postgres/locks.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { fetchRow, fetchRows, run, tables, type Connection } from '../postgres/statements.js';
import { KEYS_FRESH_MS, type Keyring } from './keyring.js';
import { masterKeyId, ROTATED_PURPOSES } from './master-key.js';
import { prefixOf } from './sealed-bytes.js';
import {
  addMasterKey,
  currentMasterKey,
  keysOf,
  storeKeys,
  type ServiceKey,
} from './service-keys.js';

/** The master key was not replaced; one line for the operator. */
export class RotationRefused extends Error {
  override readonly name = 'RotationRefused';
}

export interface MasterKeyStatus {
  readonly id: string;
  /** `old` still opens the service's keys; `retired` opens nothing. */
  readonly state: 'current' | 'old' | 'retired';
  /** Processes of the service that were started with it. */
  readonly processes: number;
  /** Its file is needed for backups from before the rotation only. */
  readonly canGo: boolean;
}

export interface KeyStatus {
  /** Newest first. */
  readonly masterKeys: readonly MasterKeyStatus[];
  /** The keys that encrypt the keys of people, each with its number of subjects. */
  readonly sealedBy: readonly { readonly generation: number; readonly subjects: number }[];
  /** The newest key encrypts all of them. */
  readonly rewrapped: boolean;
  /** The files of all master keys but the current one can be removed; true when there is none. */
  readonly oldKeysCanGo: boolean;
  /** Null: nothing. */
  readonly waitsFor:
    'keys of people to be encrypted anew' | 'processes to be started with the new key' | null;
}

const PAGE = 500;
/** By then every process uses a new key, running statements included. */
const IN_USE_AFTER_MS = KEYS_FRESH_MS + 3_000;

/**
 * Makes `next` the master key: stores the service's keys for both, and makes new ones for later
 * seals. Names and signatures keep theirs. May be repeated.
 * @throws {RotationRefused}
 */
export async function rotateMasterKey(pool: Pool, current: Buffer, next: Buffer): Promise<void> {
  const [from, to] = [masterKeyId(current), masterKeyId(next)];
  if (from === to) throw new RotationRefused('the new key is the one in use');
  await retireOldKeys(pool, from);
  await withLock(pool, 'change master keys', async (client) => {
    const newest = await currentMasterKey(client);
    if (newest === to) return;
    const known = await fetchRows(
      client,
      tables.selectFrom('vault.master_keys').select(['id', 'retired_at']),
    );
    if (known.some(({ id }) => id === to))
      throw new RotationRefused('the new key was in use before: make another one');
    if (newest !== from)
      throw new RotationRefused(`key ${newest} is in use: set MASTER_KEY_FILE to its file`);
    if (known.some(({ id, retired_at }) => id !== from && retired_at === null))
      throw new RotationRefused(
        'the rotation before is not finished: see key status for what it waits for',
      );
    const keys = await keysOf(client, current);
    const made = ROTATED_PURPOSES.map((purpose): ServiceKey => ({
      purpose,
      generation: 1 + keys.filter((key) => key.purpose === purpose).length,
      key: newBytes(32),
    }));
    await storeKeys(client, current, made);
    await addMasterKey(client, next, [...keys, ...made]);
  });
}

/**
 * Encrypts the keys of all people with the newest key, page by page. People stay readable, and a
 * destroyed key stays destroyed.
 * @param progress called with the number encrypted so far.
 * @returns that number.
 */
export async function rewrapSubjectKeys(
  pool: Pool,
  keyring: Pick<Keyring, 'refresh' | 'generation' | 'sealer'>,
  progress: (done: number) => void = () => undefined,
): Promise<number> {
  await keyring.refresh();
  const generation = keyring.generation('key-wrapping');
  const wrapping = keyring.sealer('key-wrapping');
  let done = 0;
  for (let after = NO_SUBJECT; ;) {
    const page = await fetchRows(
      pool,
      tables
        .selectFrom('vault.subject_keys')
        .select(['subject', 'wrapped'])
        .where('subject', '>', after)
        .where('wrapped', 'is not', null)
        .where(namesAnother(generation))
        .orderBy('subject')
        .limit(PAGE),
    );
    const last = page.at(-1);
    if (!last) return done;
    after = last.subject;
    const old = page.flatMap(({ subject, wrapped }) => (wrapped ? [{ subject, wrapped }] : []));
    const sealed = await Promise.all(
      old.map(async ({ subject, wrapped }) =>
        wrapping.seal(await wrapping.open(wrapped, subject), subject),
      ),
    );
    // Without those that were destroyed or encrypted anew meanwhile.
    done += await run(
      pool,
      sql`update vault.subject_keys as known set wrapped = anew.wrapped
          from unnest(${old.map(({ subject }) => subject)}::uuid[], ${old.map(({ wrapped }) => wrapped)}::bytea[], ${sealed}::bytea[])
            as anew (subject, old, wrapped)
          where known.subject = anew.subject and known.wrapped = anew.old`,
    );
    progress(done);
  }
}

/** Records a complete rotation: all is re-encrypted, and every process uses the new key. */
export async function completeRotation(pool: Pool, keyring: Keyring): Promise<boolean> {
  const row = await fetchRow(
    pool,
    sql<{ id: string; settled: boolean; waiting: boolean }>`
      select id, rewrapped_at is not null or number = 1 as settled, ${ProcessPresence.isAnyRunning}
             and clock_timestamp() < added_at + make_interval(secs => ${IN_USE_AFTER_MS / 1000}) as waiting
      from vault.master_keys order by number desc limit 1`,
  );
  if (!row || row.settled) return true;
  if (row.waiting) return false;
  await rewrapSubjectKeys(pool, keyring);
  await run(
    pool,
    sql`update vault.master_keys set rewrapped_at = now() where id = ${row.id} and rewrapped_at is null`,
  );
  return true;
}

/**
 * Retires old master keys once all is encrypted anew and no process needs them. Called by a process
 * with the current one, which proves that its file exists.
 * @param own the id of its master key.
 * @returns the ids of the retired ones.
 */
export async function retireOldKeys(pool: Pool, own: string): Promise<readonly string[]> {
  const ids = (await masterKeysIn(pool))
    .filter(({ state, canGo }) => state === 'old' && canGo)
    .map(({ id }) => id);
  if (ids.length === 0) return [];
  return withLock(pool, 'change master keys', async (client) => {
    if ((await currentMasterKey(client)) !== own) return [];
    await run(client, sql`delete from vault.master_key_processes where master_key = any (${ids})`);
    await run(client, sql`delete from vault.service_keys where master_key = any (${ids})`);
    await run(client, sql`update vault.master_keys set retired_at = now() where id = any (${ids})`);
    return ids;
  });
}

/** Which keys are in use. Reads the row of every person. */
export async function keyStatus(db: Connection): Promise<KeyStatus> {
  const masterKeys = await masterKeysIn(db);
  const sealedBy = await fetchRows(
    db,
    sql<{ generation: number; subjects: number }>`
      select get_byte(wrapped, 4) * 16777216 + get_byte(wrapped, 5) * 65536 + get_byte(wrapped, 6) * 256 + get_byte(wrapped, 7) as generation, count(*)::integer as subjects
      from vault.subject_keys where wrapped is not null group by 1 order by 1 desc`,
  );
  const old = masterKeys.filter(({ state }) => state === 'old');
  const rewrapped = masterKeys[0]?.rewrapped ?? true;
  const processes = old.reduce((sum, key) => sum + key.processes, 0);
  return {
    masterKeys: masterKeys.map(({ id, state, processes: count, canGo }) => ({
      id,
      state,
      processes: count,
      canGo,
    })),
    sealedBy,
    rewrapped,
    oldKeysCanGo: old.every(({ canGo }) => canGo),
    waitsFor: !rewrapped
      ? 'keys of people to be encrypted anew'
      : processes > 0
        ? 'processes to be started with the new key'
        : null,
  };
}

async function masterKeysIn(
  db: Connection,
): Promise<readonly (MasterKeyStatus & { readonly rewrapped: boolean })[]> {
  const rows = await fetchRows(
    db,
    sql<{ id: string; rewrapped: boolean; retired: boolean; processes: number }>`
      select id, number = 1 or rewrapped_at is not null as rewrapped, retired_at is not null as retired,
        (select count(*) from vault.master_key_processes
          where master_key = id and ${ProcessPresence.isRunning(sql.ref('process'))})::integer as processes
      from vault.master_keys order by number desc`,
  );
  const rewrapped = rows[0]?.rewrapped ?? true;
  return rows.map(({ id, retired, processes }, index) => ({
    id,
    state: index === 0 ? 'current' : retired ? 'retired' : 'old',
    processes,
    canGo: index > 0 && (retired || (rewrapped && processes === 0)),
    rewrapped,
  }));
}

/** Records the master key of a running process, and drops those of ended ones. */
export async function recordMasterKeyOf(
  pool: Pool,
  process: number,
  masterKey: string,
): Promise<void> {
  await run(
    pool,
    sql`delete from vault.master_key_processes where not ${ProcessPresence.isRunning(sql.ref('process'))}`,
  );
  const row = { process: BigInt(process), master_key: masterKey };
  await run(pool, tables.insertInto('vault.master_key_processes').values(row));
}

const NO_SUBJECT = '00000000-0000-0000-0000-000000000000';
const PREFIX_BYTES = prefixOf(1).length;

const namesAnother = (generation: number) =>
  sql<boolean>`substring(wrapped from 1 for ${PREFIX_BYTES}) <> ${prefixOf(generation)}`;
