import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  makeDataDir,
  postmasterPid,
  projectRoot,
  removeDataDir,
  statusOf,
} from '../harness/service-process.js';
import { eventually } from '../support/embedded.js';

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
    await eventually(() => Promise.resolve(output.includes('"msg":"listening"')), 60_000);
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
