import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  makeDataDir,
  postmasterPid,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../harness/service-process.js';
import { createStores } from '../support/running-service.js';

const PASSWORD = 'unguessable';

// A first start makes a database: seconds of a processor, for each file that runs at the same time.
jest.setTimeout(180_000);

let dataDir: string;
beforeEach(async () => {
  dataDir = await makeDataDir();
});
afterEach(() => removeDataDir(dataDir));

/** All that a start writes which fails, without log lines of level info. */
async function failure(env: Readonly<Record<string, string>>, port?: number): Promise<string> {
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir, ...env }, port });
  expect(await service.exited).toEqual({ code: 1, signal: null });
  return service.output();
}

async function keyFile(content: string): Promise<string> {
  const path = join(dataDir, 'key');
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

test.each([
  ['PORT=abc', { PORT: 'abc' }, 'PORT must be a whole number from 0 to 65535\n'],
  ['LOG_FORMAT=xml', { LOG_FORMAT: 'xml' }, 'LOG_FORMAT must be one of pretty, json\n'],
  [
    'a data folder that cannot be made',
    { DATA_DIR: '/proc/ledger' },
    'DATA_DIR /proc/ledger cannot be used (no folder can be made there): choose a folder that this user may write, for example DATA_DIR=$HOME/ledger npm start\n',
  ],
  [
    'another host',
    { HOST: '192.0.2.1' },
    'HOST 192.0.2.1 is not an address of this machine: choose one, for example HOST=127.0.0.1 npm start\n',
  ],
])('%s ends the start with one line that says what to do', async (_name, env, line) => {
  expect(await failure(env)).toBe(line);
});

test('a bad key file ends the start with one line', async () => {
  const MASTER_KEY_FILE = await keyFile('short');
  expect(await failure({ MASTER_KEY_FILE })).toBe(
    `the master key file ${MASTER_KEY_FILE} must hold 32 bytes as 64 hex digits, nothing else\n`,
  );
});

test('a port in use is named, and no tenant is made: the next start prints its keys, and leaves a file of operators as it is', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  try {
    expect(await failure({}, port)).toBe(
      `127.0.0.1:${port} is in use by another process: stop that process, or choose another port, for example PORT=${port + 1} npm start\n`,
    );
    expect(await postmasterPid(dataDir)).toBeUndefined();
  } finally {
    holder.close();
  }
  const operators = join(dataDir, 'operators.json');
  await writeFile(operators, '[]', { mode: 0o600 });
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  await service.ready();
  expect(printedKey(service.output())).toMatch(/^live_/);
  expect(service.output()).not.toContain('operator_');
  expect(await readFile(operators, 'utf8')).toBe('[]');
  expect(await service.terminate()).toBe(0);
});

test('a database that refuses or is absent is named without its password', async () => {
  const stores = await createStores();
  try {
    const { masterKeyFile: MASTER_KEY_FILE, databaseUrl } = stores;
    const changed = (change: (url: URL) => void): string => {
      const url = new URL(databaseUrl);
      change(url);
      return url.href;
    };
    const { hostname, port } = new URL(databaseUrl);
    const lines = await Promise.all(
      [
        changed((url) => (url.password = PASSWORD)),
        changed((url) => (url.pathname = '/nothing_there')),
        `postgresql://ledger:${PASSWORD}@127.0.0.1:1/ledger`,
      ].map((DATABASE_URL) => failure({ DATABASE_URL, MASTER_KEY_FILE })),
    );
    const place = `${decodeURIComponent(hostname)}:${port || '5432'}`;
    expect(lines).toEqual([
      expect.stringMatching(/^Postgres at .* refuses the user or the password: .*DATABASE_URL\n$/),
      `Postgres at ${place} has no such database: create it, or correct its name in DATABASE_URL\n`,
      'Postgres at 127.0.0.1:1 cannot be reached (connection refused): start it, or correct DATABASE_URL\n',
    ]);
    expect(lines.join('')).not.toContain(PASSWORD);
  } finally {
    await stores.remove();
  }
});

test('a start on an own database without a tenant prints the command that creates one', async () => {
  const stores = await createStores();
  try {
    const { databaseUrl: DATABASE_URL, masterKeyFile: MASTER_KEY_FILE } = stores;
    const service = await startServiceProcess({ env: { DATABASE_URL, MASTER_KEY_FILE } });
    await service.ready();
    expect(service.output()).toContain('npm run --silent cli -- tenant create acme\n');
    expect(await service.terminate()).toBe(0);
  } finally {
    await stores.remove();
  }
});
