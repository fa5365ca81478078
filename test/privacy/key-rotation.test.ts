import { randomBytes, randomUUID } from 'node:crypto';
import { enterWorld } from '../../src/foundation/world.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { PostgresKeyRows } from '../../src/privacy/key-rows.js';
import {
  keyStatus,
  recordMasterKeyOf,
  retireOldKeys,
  rewrapSubjectKeys,
  rotateMasterKey,
  completeRotation,
} from '../../src/privacy/key-rotation.js';
import type { Keyring } from '../../src/privacy/keyring.js';
import {
  KEY_PURPOSES,
  masterKeyId,
  purposeKey,
  wrappingKey,
} from '../../src/privacy/master-key.js';
import { generationIn, openBytes, openNamed, sealBytes } from '../../src/privacy/sealed-bytes.js';
import { openServiceKeys, WrongMasterKey } from '../../src/privacy/service-keys.js';
import { WrappedKeys } from '../../src/privacy/subject-keys.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';

let first: Buffer;
let second: Buffer;
afterEach(() => Promise.all(presences.splice(0).map((one) => one.stop())));
const { pool } = useDatabase(4, { each: true });
beforeEach(() => {
  first = randomBytes(32);
  second = randomBytes(32);
});

const presences: ProcessPresence[] = [];

function presence(): ProcessPresence {
  const made = new ProcessPresence(pool);
  presences.push(made);
  return made;
}

const peopleWith = (keyring: Keyring) =>
  new WrappedKeys(new PostgresKeyRows(pool), keyring.sealer('key-wrapping'));

async function wrappedOf(subject: string): Promise<Buffer | null> {
  const { rows } = await pool.query<{ wrapped: Buffer | null }>(
    'select wrapped from vault.subject_keys where subject = $1',
    [subject],
  );
  return rows[0]?.wrapped ?? null;
}

async function rotate(from: Buffer, to: Buffer): Promise<number> {
  const keyring = await openServiceKeys(pool, from);
  await rotateMasterKey(pool, from, to);
  const done = await rewrapSubjectKeys(pool, keyring);
  expect(await completeRotation(pool, keyring)).toBe(true);
  return done;
}

const refusalOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'not refused',
    (error: unknown) => String(error),
  );

test('after a rotation the new key opens what was sealed before, and names and signatures stay', async () => {
  expect(await keyStatus(pool)).toMatchObject({ masterKeys: [], rewrapped: true });
  const before = await openServiceKeys(pool, first);
  const subjects = Array.from({ length: 1_203 }, () => randomUUID());
  const keys = await peopleWith(before).loadOrCreate(subjects);
  const answers = before.sealer('idempotency');
  const answer = await answers.seal(Buffer.from('an answer'), 'a request');

  expect(await rotate(first, second)).toBe(subjects.length);
  for (const master of [second, first]) {
    const after = await openServiceKeys(pool, master);
    expect(await peopleWith(after).load(subjects)).toEqual(keys);
    expect((await after.sealer('idempotency').open(answer, 'a request')).toString()).toBe(
      'an answer',
    );
    for (const purpose of ['stream-names', 'chain-signing'] as const)
      expect(after.fixed(purpose)).toEqual(before.fixed(purpose));
  }
  expect(await keyStatus(pool)).toMatchObject({
    sealedBy: [{ generation: 2, subjects: subjects.length }],
    rewrapped: true,
    oldKeysCanGo: true,
  });
});

test('a value that is encrypted anew is not opened by a key that is derived from the old master key', async () => {
  const one = randomUUID();
  await peopleWith(await openServiceKeys(pool, first)).loadOrCreate([one]);
  await rotate(first, second);
  const wrapped = (await wrappedOf(one)) ?? Buffer.alloc(0);
  for (const purpose of KEY_PURPOSES)
    expect(() => openNamed(purposeKey(first, purpose), wrapped, one)).toThrow();
});

test('a key that is destroyed while it is encrypted anew stays destroyed', async () => {
  const keyring = await openServiceKeys(pool, first);
  const [gone, kept] = [randomUUID(), randomUUID()];
  const people = peopleWith(keyring);
  await people.loadOrCreate([gone, kept]);
  await rotateMasterKey(pool, first, second);
  const slow: Pick<Keyring, 'refresh' | 'generation' | 'sealer'> = {
    refresh: () => keyring.refresh(),
    generation: (purpose) => keyring.generation(purpose),
    sealer: (purpose) => {
      const sealer = keyring.sealer(purpose);
      return {
        open: (...given) => sealer.open(...given),
        seal: async (...given) => {
          await people.destroy([gone]);
          return sealer.seal(...given);
        },
      };
    },
  };
  expect(await rewrapSubjectKeys(pool, slow)).toBe(1);
  expect(await wrappedOf(gone)).toBeNull();
  expect(await rewrapSubjectKeys(pool, keyring)).toBe(0);
});

test('a process that runs meanwhile reads the new key when it meets it, and soon seals with it', async () => {
  let now = 0;
  const back = enterWorld({
    now: () => now,
    elapsed: () => now,
    after: () => () => undefined,
    uuid: randomUUID,
    bytes: (length) => randomBytes(length),
    below: () => 0,
  });
  try {
    const running = await openServiceKeys(pool, first);
    await rotateMasterKey(pool, first, second);
    const sealed = await (
      await openServiceKeys(pool, second)
    )
      .sealer('api-keys')
      .seal(Buffer.from('a key'), 'its place');
    const mine = running.sealer('api-keys');
    expect(generationIn(await mine.seal(Buffer.from('x'), 'p'))).toBe(1);
    expect((await mine.open(sealed, 'its place')).toString()).toBe('a key');
    expect(generationIn(await mine.seal(Buffer.from('x'), 'p'))).toBe(2);

    const other = await openServiceKeys(pool, first);
    await rotate(first, second);
    const third = randomBytes(32);
    await retireOldKeys(pool, masterKeyId(second));
    await rotateMasterKey(pool, second, third);
    now += 2_001;
    // Its master key was replaced twice: what it knows is good, and it reads nothing newer.
    expect(generationIn(await other.sealer('api-keys').seal(Buffer.from('x'), 'p'))).toBe(2);
  } finally {
    back();
  }
});

test('the old key is needed until every process runs with the new one, and opens nothing after that', async () => {
  const keyring = await openServiceKeys(pool, first);
  await peopleWith(keyring).loadOrCreate([randomUUID()]);
  const [old, next] = [presence(), presence()];
  await old.start();
  await recordMasterKeyOf(pool, old.id, masterKeyId(first));
  await rotateMasterKey(pool, first, second);
  // The process may be sealing with the key before at this moment.
  expect(await completeRotation(pool, keyring)).toBe(false);
  expect(await keyStatus(pool)).toMatchObject({
    rewrapped: false,
    waitsFor: 'keys of people to be encrypted anew',
  });
  await pool.query(`update vault.master_keys set added_at = added_at - interval '1 minute'`);
  expect(await completeRotation(pool, keyring)).toBe(true);
  await next.start();
  await recordMasterKeyOf(pool, next.id, masterKeyId(second));
  expect(await retireOldKeys(pool, masterKeyId(second))).toEqual([]);
  expect(await keyStatus(pool)).toMatchObject({
    masterKeys: [
      { id: masterKeyId(second), state: 'current', processes: 1 },
      { id: masterKeyId(first), state: 'old', processes: 1, canGo: false },
    ],
    oldKeysCanGo: false,
    waitsFor: 'processes to be started with the new key',
  });
  await openServiceKeys(pool, first);

  await old.stop();
  await eventually(async () => (await keyStatus(pool)).oldKeysCanGo);
  expect(await keyStatus(pool)).toMatchObject({ oldKeysCanGo: true, waitsFor: null });
  // Only who has the new key may say that its file is there.
  expect(await retireOldKeys(pool, masterKeyId(first))).toEqual([]);
  expect(await retireOldKeys(pool, masterKeyId(second))).toEqual([masterKeyId(first)]);
  await expect(openServiceKeys(pool, first)).rejects.toThrow(WrongMasterKey);
  expect(await refusalOf(openServiceKeys(pool, first))).toContain(masterKeyId(second));
  await openServiceKeys(pool, second);
  const { rows } = await pool.query('select from vault.service_keys where master_key = $1', [
    masterKeyId(first),
  ]);
  expect(rows).toHaveLength(0);
});

const unchanged = async (work: () => Promise<unknown>, why: RegExp): Promise<void> => {
  const before = await pool.query('select purpose, generation, master_key from vault.service_keys');
  expect(await refusalOf(work())).toMatch(why);
  const after = await pool.query('select purpose, generation, master_key from vault.service_keys');
  expect(after.rows).toEqual(before.rows);
};

test('a rotation is refused to the key in use, to one from before, by one that is not in use, and before the last one ended', async () => {
  await openServiceKeys(pool, first);
  await unchanged(() => rotateMasterKey(pool, first, first), /in use/);
  const running = presence();
  await running.start();
  await recordMasterKeyOf(pool, running.id, masterKeyId(first));
  await rotateMasterKey(pool, first, second);
  // Again: the same rotation.
  await unchanged(() => rotateMasterKey(pool, first, second), /not refused/);
  const third = randomBytes(32);
  await unchanged(() => rotateMasterKey(pool, first, third), /set MASTER_KEY_FILE/);
  await unchanged(() => rotateMasterKey(pool, second, third), /not finished/);
  await running.stop();
  const now = await openServiceKeys(pool, second);
  await eventually(() => completeRotation(pool, now));
  await eventually(async () => (await keyStatus(pool)).oldKeysCanGo);
  await rotateMasterKey(pool, second, third);
  await unchanged(() => rotateMasterKey(pool, third, first), /before/);
});

const PURPOSE = 'webhook-answers';
const forgetPurpose = (master?: Buffer) =>
  pool.query(
    'delete from vault.service_keys where purpose = $1 and master_key = coalesce($2, master_key)',
    [PURPOSE, master === undefined ? null : masterKeyId(master)],
  );

test('a purpose that the release before did not have gets its first key on a database that has the other keys, once', async () => {
  await openServiceKeys(pool, first);
  await forgetPurpose();
  const opened = await Promise.all([1, 2, 3].map(() => openServiceKeys(pool, first)));
  const [one, ...others] = opened.map((keyring) => keyring.sealer(PURPOSE));
  const sealed = await one?.seal(Buffer.from('an answer'), 'a delivery');
  for (const other of others)
    expect((await other.open(sealed ?? Buffer.alloc(0), 'a delivery')).toString()).toBe(
      'an answer',
    );
  expect(await rotate(first, second)).toBe(0);
  const after = (await openServiceKeys(pool, second)).sealer(PURPOSE);
  expect((await after.open(sealed ?? Buffer.alloc(0), 'a delivery')).toString()).toBe('an answer');
});

test('of two master keys the newest alone makes the first key of a purpose, and there is no second one', async () => {
  await openServiceKeys(pool, first);
  await rotateMasterKey(pool, first, second);
  const refused = (master: Buffer, holder: Buffer): Promise<void> =>
    expect(openServiceKeys(pool, master)).rejects.toThrow(
      `keys that the master key ${masterKeyId(holder)} alone opens`,
    );
  // The other one has it.
  await forgetPurpose(second);
  await refused(second, first);
  // Neither has it.
  await forgetPurpose();
  await refused(first, second);
  expect((await openServiceKeys(pool, second)).generation(PURPOSE)).toBe(1);
});

test('a rotation includes the keys of purposes that only a newer release has', async () => {
  await openServiceKeys(pool, first);
  const purpose = 'of a newer release';
  const key = randomBytes(32);
  await pool.query('insert into vault.service_keys values ($1, 1, $2, $3)', [
    purpose,
    masterKeyId(first),
    sealBytes(wrappingKey(first), key, `${purpose}/1`),
  ]);
  await rotate(first, second);
  const { rows } = await pool.query<{ wrapped: Buffer }>(
    'select wrapped from vault.service_keys where purpose = $1 and master_key = $2',
    [purpose, masterKeyId(second)],
  );
  const copy = rows[0]?.wrapped ?? Buffer.alloc(0);
  expect(openBytes(wrappingKey(second), copy, `${purpose}/1`)).toEqual(key);
});
