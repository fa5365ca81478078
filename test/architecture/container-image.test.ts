import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { loadMasterKey } from '../../src/privacy/master-key.js';
import { environmentOf, readDockerfile, textsOf } from '../support/container-files.js';

const root = join(__dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const stages = readDockerfile();
const image = stages.at(-1)!;
const environment = environmentOf(image);
const words = z.array(z.string());

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-image-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const script = (name: string): string => join(root, 'docker', name);
const run = (
  name: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
) =>
  spawnSync(process.execPath, [script(name), ...args], {
    env: { PATH: process.env.PATH, ...variables },
    encoding: 'utf8',
  });

/** Sources of COPY that come from the project, not from another stage. */
const copied = stages.flatMap((stage) =>
  textsOf(stage, 'COPY')
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(' ').slice(0, -1)),
);

it('docker/Dockerfile copies existing files, which .dockerignore admits with little else', () => {
  const [first, ...passed] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(first).toBe('*');
  expect(passed.map((line) => line.replace(/^!/, '')).sort()).toEqual([...new Set(copied)].sort());
  const missing = copied.filter(
    (path) => !existsSync(join(root, path.endsWith('*.mjs') ? dirname(path) : path)),
  );
  expect(missing).toEqual([]);
});

it('docker/Dockerfile runs as a numbered user other than root, who owns the folder of the master key', () => {
  const [user, ...others] = textsOf(image, 'USER');
  expect(others).toEqual([]);
  const [, uid, gid] = /^([1-9]\d*):([1-9]\d*)$/.exec(user ?? '') ?? [];
  expect(textsOf(image, 'RUN').join('\n')).toContain(
    `install -d -o ${uid} -g ${gid} -m 0700 ${environment.DATA_DIR}`,
  );
  expect(dirname(environment.MASTER_KEY_FILE!)).toBe(environment.DATA_DIR);
});

const checkAt = async (port: number): Promise<number | null> => {
  const child = spawn(process.execPath, [script('check-health.mjs')], {
    env: { PORT: String(port) },
    stdio: 'ignore',
  });
  await once(child, 'exit');
  return child.exitCode;
};
// Read, not imported: the framework behind it takes longer to load than all tests here.
const controller = read('src/http/health/health.controller.ts');
const prefix = /@Controller\('([^']+)'\)/.exec(controller)?.[1];
const routes = [...controller.matchAll(/@Get\('([^']+)'\)/g)].map(
  ([, path]) => `/${prefix}/${path}`,
);

it('the health check of the image requests a route of the service, and fails on any other answer and on none', async () => {
  const asked: string[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const codes: (number | null)[] = [];
  try {
    codes.push(await checkAt(port));
    status = 503;
    codes.push(await checkAt(port));
  } finally {
    server.close();
  }
  await once(server, 'close');
  codes.push(await checkAt(port));
  expect(codes).toEqual([0, 1, 1]);
  expect(asked.length).toBe(2);
  expect(asked.filter((path) => !routes.includes(path))).toEqual([]);
  expect(
    words.parse(JSON.parse(/CMD (\[.*\])$/.exec(textsOf(image, 'HEALTHCHECK')[0]!)![1]!)),
  ).toEqual(['node', 'docker/check-health.mjs']);
});

const config = (masterKeyFile: string) => ({
  dataDir: folder,
  databaseUrl: 'postgresql://elsewhere/',
  masterKeyFile,
});

it('the scripts of the image create a master key that the service accepts, once', async () => {
  const file = join(folder, 'master.key');
  expect(run('make-master-key.mjs', [file])).toMatchObject({ status: 0, stderr: '' });
  const key = await loadMasterKey(config(file));
  expect(run('make-master-key.mjs', [file])).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(await loadMasterKey(config(file))).toEqual(key);
  expect(readdirSync(folder)).toEqual(['master.key']);
});

it('the scripts of the image copy a secret that others could read into one that the service accepts, and again after a change', async () => {
  const target = join(folder, 'target');
  mkdirSync(target);
  // Left by a run that was killed.
  writeFileSync(join(target, '.master-key.new'), 'half', { mode: 0o400 });
  const owner = `${process.getuid!()}:${process.getgid!()}`;
  for (const digit of ['a', 'b']) {
    writeFileSync(join(folder, 'master-key'), digit.repeat(64), { mode: 0o644 });
    expect(run('install-secrets.mjs', [owner, target, join(folder, 'master-key')])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(await loadMasterKey(config(join(target, 'master-key')))).toEqual(
      Buffer.from(digit.repeat(64), 'hex'),
    );
  }
  expect(readdirSync(target)).toEqual(['master-key']);
});

it('the scripts of the image refuse a secret that is missing or empty, in one line', () => {
  writeFileSync(join(folder, 'empty'), '\n');
  for (const secret of ['empty', 'missing']) {
    const { status, stderr } = run('install-secrets.mjs', ['1:1', folder, join(folder, secret)]);
    expect([status, stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(stderr).toContain(secret);
  }
});

it('the scripts of the image end the start with one line without values when an address cannot be completed', () => {
  writeFileSync(join(folder, 'password'), 'secret-word\n');
  writeFileSync(join(folder, 'empty'), '\n');
  const DATABASE_URL = 'postgresql://ledger@postgres/ledger';
  for (const [variables, said] of [
    [{}, 'DATABASE_URL is required: the image has no embedded Postgres'],
    [
      { DATABASE_PASSWORD_FILE: join(folder, 'password') },
      'DATABASE_URL must name a user and no password, since DATABASE_PASSWORD_FILE is set',
    ],
    [
      {
        DATABASE_URL: 'postgresql://ledger:word@postgres/ledger',
        DATABASE_PASSWORD_FILE: join(folder, 'password'),
      },
      'DATABASE_URL must name a user and no password, since DATABASE_PASSWORD_FILE is set',
    ],
    [
      { DATABASE_URL, DATABASE_PASSWORD_FILE: join(folder, 'missing') },
      'DATABASE_PASSWORD_FILE names a file that cannot be read: ENOENT',
    ],
    [
      { DATABASE_URL, EVENT_STORE_PASSWORD_FILE: join(folder, 'empty') },
      'EVENT_STORE_PASSWORD_FILE names an empty file',
    ],
  ] as const) {
    expect(run('start.mjs', [], { ...variables })).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `${said}\n`,
    });
  }
});
