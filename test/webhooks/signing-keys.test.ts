import { compactVerify, CompactSign, createLocalJWKSet } from 'jose';
import { sql } from 'kysely';
import { run, tables } from '../../src/postgres/statements.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { SigningKeys } from '../../src/webhooks/signing/signing-keys.js';
import { useDatabase } from '../support/database.js';

const HOUR_MS = 3_600_000;
const SEALING_KEY = Buffer.alloc(32, 7);

const { pool } = useDatabase(10, { each: true });

/** The keys as a process of its own has them. */
const process = (): SigningKeys => new SigningKeys(pool, new FixedSealer(SEALING_KEY));

const kidsOf = async (keys: SigningKeys): Promise<readonly string[]> =>
  (await keys.jwks()).keys.map(({ kid }) => kid);

/** Whether a signature of the current key verifies with the served set. */
async function verifies(signing: SigningKeys, served = signing): Promise<boolean> {
  const { kid, privateKey } = await signing.current();
  const jws = await new CompactSign(Buffer.from('{}'))
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(privateKey);
  const { keys } = await served.jwks();
  return compactVerify(jws, createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) })).then(
    () => true,
    () => false,
  );
}

const rows = () =>
  pool.query<{ kid: string; sealed: Buffer | null; created_by: string }>(
    'select * from ledger.webhook_signing_keys order by created_at',
  );

it('the first key is made when it is needed, once, however many processes need it', async () => {
  const [current, ...sets] = await Promise.all([
    process().current(),
    ...Array.from({ length: 3 }, () => process().jwks()),
  ]);
  for (const { keys } of sets) expect(keys.map(({ kid }) => kid)).toEqual([current.kid]);
  expect((await rows()).rows).toMatchObject([{ kid: current.kid, created_by: 'service' }]);
});

it('the served set is an RSA key set that verifies what the current key signs', async () => {
  const keys = process();
  expect(await verifies(keys, process())).toBe(true);
  const { keys: served } = await keys.jwks();
  expect(served.map((key) => Object.keys(key).sort())).toEqual([
    ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  ]);
  expect(served[0]).toMatchObject({ kty: 'RSA', use: 'sig', alg: 'RS256', e: 'AQAB' });
  // 2048 bits.
  expect(Buffer.from(served[0]?.n ?? '', 'base64url').length).toBe(256);
});

it('a rotation counts immediately in every process, and both keys are served', async () => {
  const [one, other] = [process(), process()];
  const before = (await one.current()).kid;
  await other.current();
  const { kid } = await one.rotate(HOUR_MS, 'anna');
  expect(kid).not.toBe(before);
  for (const keys of [one, other]) {
    expect((await keys.current()).kid).toBe(kid);
    expect(await kidsOf(keys)).toEqual([kid, before]);
    expect(await verifies(keys)).toBe(true);
  }
  expect((await rows()).rows.map(({ created_by: by }) => by)).toEqual(['service', 'anna']);
});

it('a key that signs no more keeps no private part, and is dropped after its grace', async () => {
  const keys = process();
  const first = (await keys.current()).kid;
  const { kid: second } = await keys.rotate(HOUR_MS, 'anna');
  expect((await rows()).rows.map(({ sealed }) => sealed === null)).toEqual([true, false]);
  // An hour later.
  await run(
    pool,
    tables
      .updateTable('ledger.webhook_signing_keys')
      .set({ served_until: sql<Date>`served_until - interval '1 hour'` })
      .where('kid', '=', first),
  );
  expect(await kidsOf(keys)).toEqual([second]);
  const { kid: third } = await keys.rotate(0, 'anna');
  expect(await kidsOf(keys)).toEqual([third]);
  expect((await keys.current()).kid).toBe(third);
  await keys.rotate(HOUR_MS, 'anna');
  // The rows of the first two keys are deleted.
  expect((await rows()).rows.length).toBe(2);
});

it('rotations at the same time take turns: one key is current, all are served', async () => {
  const rotated = await Promise.all(
    Array.from({ length: 3 }, () => process().rotate(HOUR_MS, 'anna')),
  );
  const served = await kidsOf(process());
  expect(new Set(served)).toEqual(new Set(rotated.map(({ kid }) => kid)));
  expect((await rows()).rows.filter(({ sealed }) => sealed !== null).length).toBe(1);
  expect((await process().current()).kid).toBe(served[0]);
});

it('the private key is sealed: with another sealing key it cannot be used', async () => {
  await process().current();
  const { rows: stored } = await rows();
  expect(JSON.stringify(stored) + (stored[0]?.sealed?.toString('latin1') ?? '')).not.toMatch(
    /PRIVATE|"d"/,
  );
  await expect(
    new SigningKeys(pool, new FixedSealer(Buffer.alloc(32, 8))).current(),
  ).rejects.toThrow();
});

it('while the database is unavailable there is no key, and a later call has one', async () => {
  const keys = process();
  await pool.query('alter table ledger.webhook_signing_keys rename to away');
  await expect(keys.current()).rejects.toThrow();
  await expect(keys.jwks()).rejects.toThrow();
  await pool.query('alter table ledger.away rename to webhook_signing_keys');
  expect(await verifies(keys)).toBe(true);
});
