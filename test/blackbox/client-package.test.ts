// Over 5 s: installs the tools of the package, builds and packs it, and installs it in a project.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';

const run = promisify(execFile);
const CLIENT = join(__dirname, '../../packages/client');
const LOOPBACK = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
jest.setTimeout(300_000);

let dataDir: string;
let project: string;
let service: ServiceProcess;
let env: Readonly<Record<string, string>>;

const cli = async (...words: readonly string[]): Promise<string> =>
  (
    await run(process.execPath, ['scripts/cli.mjs', ...words], {
      cwd: join(__dirname, '../..'),
      env: { ...process.env, ...env },
    })
  ).stdout.trim();

const printed = async (name: string): Promise<string> =>
  (await run(process.execPath, [name], { cwd: project, env: { ...process.env, ...env } })).stdout;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({
    env: { DATA_DIR: dataDir, ...LOOPBACK },
  });
  await service.ready();
  env = {
    DATA_DIR: dataDir,
    ...LOOPBACK,
    LEDGER_URL: service.url,
    LEDGER_TENANT: 'demo',
    LEDGER_API_KEY: printedKey(service.output()),
  };
  project = await mkdtemp(join(tmpdir(), 'client-'));
  // A copy: two runs at the same time would build in one folder.
  const copy = join(project, 'package');
  await run('cp', ['-r', CLIENT, copy]);
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: copy });
  await run(process.execPath, ['build.mjs', `${service.url}/openapi.json`], { cwd: copy });
  await run('npm', ['test'], { cwd: copy });
  await run('npm', ['pack', '--pack-destination', project], { cwd: copy });
  await rm(copy, { recursive: true });
  await writeFile(join(project, 'package.json'), '{}');
  await run('npm', ['install', '--no-audit', '--no-fund', './referral-ledger-client-1.0.0.tgz'], {
    cwd: project,
  });
  const readme = await readFile(join(CLIENT, 'README.md'), 'utf8');
  for (const [, name = '', code = ''] of readme.matchAll(/```js\n\/\/ (\S+)\n([^]*?)```/g))
    await writeFile(join(project, name), code);
});
afterAll(async () => {
  await service.terminate();
  await removeDataDir(dataDir);
  await rm(project, { recursive: true });
});

test('the examples of the README run as written in an empty project', async () => {
  expect(await printed('identify.mjs')).toBe("Bob's code is BOB\n");
  const credit = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 900 };
  const granted = await fetch(`${service.url}/api/v1/demo/rewards/account/bob-ltd/user/bob`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`:${env['LEDGER_API_KEY']}`)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(credit),
  });
  expect(granted.status).toBe(201);
  expect(await printed('redeem.mjs')).toBe('CENTS: 0 of 900 redeemed\nredeemed 500, 400 left\n');
  expect(await printed('list.mjs')).toBe('bob-ltd bob\n');
});

test('a receiver of the README verifies the webhooks of its endpoint and refuses others', async () => {
  const endpoint = 'http://127.0.0.1:4000/';
  const added = JSON.parse(
    await cli('webhook', 'add', 'demo', '--endpoint', endpoint, '--json'),
  ) as { readonly secret: string };
  const receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: project,
    env: { ...process.env, WEBHOOK_SECRET: added.secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(receiver.stdout, 'data');
    const [[line], answer] = await Promise.all([
      once(receiver.stdout, 'data') as Promise<[Buffer]>,
      cli('webhook', 'test', 'demo', '--endpoint', endpoint, '--json'),
    ]);
    expect(JSON.parse(answer)).toMatchObject({ status: 204 });
    expect(String(line)).toMatch(/^test \S+\n$/);
    expect((await fetch(endpoint, { method: 'POST', body: '{}' })).status).toBe(400);
  } finally {
    receiver.kill();
  }
});

test('the page of the README reads a user with a token, and the package bundles for browsers', async () => {
  await cli('tenant', 'update', 'demo', '--open-endpoints');
  const words = ['--account', 'bob-ltd', '--user', 'bob'];
  env = { ...env, LEDGER_USER_TOKEN: await cli('token', 'sign', 'demo', ...words) };
  expect(await printed('page.mjs')).toBe('BOB\n');
  await mkdir(join(project, 'site'));
  const bundled = await build({
    entryPoints: [join(project, 'page.mjs')],
    bundle: true,
    platform: 'browser',
    format: 'esm',
    outfile: join(project, 'site/page.js'),
    logLevel: 'silent',
  });
  expect([...bundled.errors, ...bundled.warnings]).toEqual([]);
});
