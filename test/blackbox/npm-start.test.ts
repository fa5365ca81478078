import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  makeDataDir,
  postmasterPid,
  projectRoot,
  removeDataDir,
  startServiceProcess,
  statusOf,
} from '../harness/service-process.js';
import { basic } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';

const exec = promisify(execFile);

test('npm start -- --help prints the help and starts nothing', async () => {
  const dataDir = await makeDataDir();
  try {
    const env = { ...process.env, DATA_DIR: dataDir };
    const args = ['start', '--silent', '--', '--help'];
    const { stdout } = await exec('npm', args, { cwd: projectRoot(), env });
    expect(stdout).toMatch(/Usage: npm start\n[^]*PORT +3000\n/);
    expect(await readdir(dataDir)).toEqual([]);
  } finally {
    await removeDataDir(dataDir);
  }
});

test('the first start prints keys and a request that work, and makes the operator admin', async () => {
  const dataDir = await makeDataDir();
  const env = { DATA_DIR: dataDir, LOG_FORMAT: 'pretty', LOG_LEVEL: 'info' };
  const service = await startServiceProcess({ env, by: 'npm' });
  try {
    await service.ready();
    const output = service.output();
    expect(output).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening \{.*\}$/m);
    const [curl = ''] = /curl .*/.exec(output) ?? [];
    const { stdout } = await exec('sh', ['-c', curl]);
    expect(JSON.parse(stdout)).toMatchObject({ id: 'acme' });

    const [key = ''] = /operator_\w+/.exec(output) ?? [];
    const whoAmI = await fetch(`${service.url}/operations`, {
      headers: { authorization: basic(`:${key}`) },
    });
    expect(await whoAmI.json()).toEqual({ name: 'admin', roles: ['finance', 'support'] });
    const file = join(dataDir, 'operators.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toContain(key);

    expect(await service.terminate()).toBe(0);
  } finally {
    await removeDataDir(dataDir);
  }
});

test('SIGTERM to npm start stops the service cleanly, its Postgres included', async () => {
  const dataDir = await makeDataDir();
  const env = { ...process.env, DATA_DIR: dataDir, PORT: '0' };
  const npm = spawn('npm', ['start', '--silent'], {
    cwd: projectRoot(),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let output = '';
    npm.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await eventually(() => output.includes('"msg":"listening"'));
    const [, url = ''] = /"url":"([^"]+)"/.exec(output) ?? [];
    expect(await statusOf(`${url}/health/live`)).toBe(200);
    expect(await postmasterPid(dataDir)).toBeDefined();
    npm.kill('SIGTERM');
    const [code] = (await once(npm, 'exit')) as [number | null];
    expect(code).toBe(0);
    expect(output).toContain('"msg":"stopped"');
    expect(await statusOf(`${url}/health/live`)).toBeUndefined();
    expect(await postmasterPid(dataDir)).toBeUndefined();
  } finally {
    // Whatever the test came to, nothing is left behind: killed outright, npm would leave the
    // service running.
    npm.kill('SIGTERM');
    npm.stdout.destroy();
    await removeDataDir(dataDir);
  }
}, 90_000);
