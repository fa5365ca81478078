import { randomBytes } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startServiceProcess, type ServiceProcess } from '../harness/service-process.js';
import { ApiClient } from '../support/api-client.js';
import { runHere, type Ran } from '../support/command-line.js';
import { createStores, type TestStores } from '../support/running-service.js';

let stores: TestStores;
let newKeyFile: string;
let service: ServiceProcess | undefined;
beforeEach(async () => {
  stores = await createStores();
  newKeyFile = join(dirname(stores.masterKeyFile), 'new.key');
  await writeFile(newKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
});
afterEach(async () => {
  await service?.kill();
  await stores.remove();
});

const envWith = (masterKeyFile: string): Readonly<Record<string, string>> => ({
  DATABASE_URL: stores.databaseUrl,
  MASTER_KEY_FILE: masterKeyFile,
});

const cli = (masterKeyFile: string, ...words: readonly string[]): Promise<Ran> =>
  runHere({ databaseUrl: stores.databaseUrl, masterKeyFile }, words);

async function start(masterKeyFile: string): Promise<ServiceProcess> {
  service = await startServiceProcess({ env: envWith(masterKeyFile) });
  await service.ready();
  return service;
}

interface Status {
  readonly masterKeys: readonly { readonly state: string; readonly canGo: boolean }[];
  readonly rewrapped: boolean;
  readonly oldKeysCanGo: boolean;
  readonly waitsFor: string | null;
}

test('a key is rotated next to the service, and the old key opens nothing once the service has the new one', async () => {
  const before = await start(stores.masterKeyFile);
  const made = await cli(
    stores.masterKeyFile,
    'tenant',
    'create',
    'shop',
    '--open-endpoints',
    '--json',
  );
  const { liveApiKey = '' } = JSON.parse(made.out) as Readonly<Record<string, string>>;
  const at = '/open/account/a/user/u';
  const client = ({ url }: ServiceProcess) => new ApiClient(url, 'shop', `:${liveApiKey}`);
  const ann = { firstName: 'Ann', email: 'ann@example.com' };
  expect(await client(before).put(at, ann)).toMatchObject({ status: 200 });

  const rotated = await cli(
    stores.masterKeyFile,
    'key',
    'rotate',
    '--new-key-file',
    newKeyFile,
    '--json',
  );
  expect(rotated.code).toBe(0);
  expect(JSON.parse(rotated.out)).toMatchObject({
    masterKeys: [
      { state: 'current', processes: 0, canGo: false },
      { state: 'old', processes: 1, canGo: false },
    ],
    rewrapped: true,
    oldKeysCanGo: false,
    waitsFor: 'processes to be started with the new key',
  });
  // The running service reads and writes as before.
  expect(await client(before).get(at)).toMatchObject({ status: 200, body: ann });
  expect(await client(before).put('/open/account/b/user/v', { firstName: 'Bob' })).toMatchObject({
    status: 200,
  });
  await before.terminate();

  const after = await start(newKeyFile);
  expect(await client(after).get(at)).toMatchObject({ status: 200, body: ann });
  expect(await client(after).get('/open/account/b/user/v')).toMatchObject({
    body: { firstName: 'Bob' },
  });
  const status = JSON.parse((await cli(newKeyFile, 'key', 'status', '--json')).out) as Status;
  expect(status).toMatchObject({ oldKeysCanGo: true, waitsFor: null });
  expect(status.masterKeys.map(({ state }) => state)).toEqual(['current', 'retired']);

  const refused = await cli(stores.masterKeyFile, 'tenant', 'list');
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(/^this master key was replaced .* MASTER_KEY_FILE .*\n$/);
  // Names and signatures are those from before.
  expect((await cli(newKeyFile, 'ledger', 'verify', 'shop')).code).toBe(0);
}, 120_000);

test('a new key file that is missing, that others can read, or that is in use is refused in one line', async () => {
  await chmod(newKeyFile, 0o644);
  for (const [file, why] of [
    [`${newKeyFile}.not`, /does not exist/],
    [newKeyFile, /mode 644: others can read it/],
    [stores.masterKeyFile, /is the one in use/],
  ] as const) {
    const words = ['key', 'rotate', '--json', '--new-key-file', file];
    const { code, out, err } = await cli(stores.masterKeyFile, ...words);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(why);
    expect(err.trim().split('\n')).toHaveLength(1);
  }
  const { out } = await cli(stores.masterKeyFile, 'key', 'status', '--json');
  expect((JSON.parse(out) as Status).masterKeys).toHaveLength(1);
}, 60_000);
