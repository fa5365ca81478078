import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MasterKeyError, loadMasterKey, purposeKey } from '../../src/privacy/master-key.js';

let dataDir: string;
beforeEach(async () => (dataDir = await mkdtemp(join(tmpdir(), 'ledger-key-'))));
afterEach(() => rm(dataDir, { recursive: true, force: true }));

function config(databaseUrl?: string) {
  return { dataDir, databaseUrl, masterKeyFile: join(dataDir, 'master.key') };
}

async function refusal(): Promise<string> {
  const error: unknown = await loadMasterKey(config()).catch((reason: unknown) => reason);
  if (!(error instanceof MasterKeyError)) throw new Error('the key was not refused');
  expect(error.message).not.toContain('\n');
  return error.message;
}

test('the first start makes a key that only its owner can read, later ones find it', async () => {
  const key = await loadMasterKey(config());
  expect(key).toHaveLength(32);
  expect((await stat(config().masterKeyFile)).mode & 0o777).toBe(0o600);
  expect((await readFile(config().masterKeyFile, 'utf8')).trim()).toBe(key.toString('hex'));
  expect(await loadMasterKey(config())).toEqual(key);
});

test('concurrent first starts agree on one key and leave nothing else', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => loadMasterKey(config())));
  expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
  expect(await readdir(dataDir)).toEqual(['master.key']);
});

test('with an own database a missing key is never made', async () => {
  await expect(loadMasterKey(config('postgresql://db/ledger'))).rejects.toThrow(/does not exist/);
  expect(await readdir(dataDir)).toEqual([]);
});

test('a key is never made next to old data', async () => {
  await mkdir(join(dataDir, 'postgres'));
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
  expect(await refusal()).toMatch(/is missing.*restore the file from its backup/);
});

test('a key that others can read is refused', async () => {
  await loadMasterKey(config());
  await chmod(config().masterKeyFile, 0o640);
  expect(await refusal()).toMatch(/mode 640/);
});

test.each(['', 'abc', 'g'.repeat(64), 'ab'.repeat(33)])(
  'a file with %j is no key, and is not shown',
  async (content) => {
    await writeFile(config().masterKeyFile, content, { mode: 0o600 });
    const message = await refusal();
    expect(message).toMatch(/64 hex digits/);
    if (content) expect(message.replace(config().masterKeyFile, '')).not.toContain(content);
  },
);

test('keys differ by purpose and never change', () => {
  const master = Buffer.alloc(32, 7);
  const keys = (['stream-names', 'key-wrapping', 'api-keys', 'idempotency'] as const).map(
    (purpose) => purposeKey(master, purpose).toString('hex'),
  );
  expect(new Set(keys).size).toBe(4);
  // Frozen: another value here would orphan every stream name and every wrapped key out there.
  expect(keys).toMatchInlineSnapshot(`
   [
     "fdc62e83d1dd7ae6c53e12c49cd7c23e4a1d5124e8f7ca61fba6f30e876978f5",
     "e6f73dcbfe67416bf201f89ee516a1731742e1b431398e8f2d448dfe5c33c39f",
     "e9656af7fff68a5d407119839bd2f3712f1861aee5d5e217b7281d02ed1b6839",
     "1fa51e1c4caa44c2bc6216194aa569b9f9b840150cd4af53afd3c745ad2b7623",
   ]
  `);
});
