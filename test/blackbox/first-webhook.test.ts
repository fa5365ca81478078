// Over 5 s: starts the compiled service and runs the commands of a guide one after the other.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  freePort,
  makeDataDir,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';

const run = promisify(execFile);
const ROOT = join(__dirname, '../..');
jest.setTimeout(180_000);

let dataDir: string;
let service: ServiceProcess;
let receiver: ChildProcess | undefined;
beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({
    env: { DATA_DIR: dataDir, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
  });
  await service.ready();
});
afterAll(async () => {
  receiver?.kill();
  await service.terminate();
  await removeDataDir(dataDir);
});

test('the commands of the guide lead from a started service to a verified webhook and its repetition', async () => {
  const guide = await readFile(join(ROOT, 'docs/how-to/receive-webhooks.md'), 'utf8');
  const section = guide.slice(
    guide.indexOf('## The first webhook'),
    guide.indexOf('## What arrives'),
  );
  const [, testKey = ''] = /test API key\s+(\S+)/.exec(service.output()) ?? [];
  const port = await freePort();
  const filledIn = (text: string, secret = ''): string =>
    text
      .replaceAll('test_…', testKey)
      .replaceAll('whsec_…', secret)
      .replaceAll(':3000', `:${service.port}`)
      .replaceAll('4000', String(port));
  const blocks = [...section.matchAll(/```(sh|js)\n([^]*?)```/g)].map(
    ([, language = '', code = '']) => ({ language, code }),
  );
  expect(blocks.map(({ language }) => language).join()).toBe('sh,sh,js,sh,sh,sh');
  const [start, subscribe, code, receive, event, operate] = blocks.map((block) => block.code);
  expect(start).toBe('WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 npm start\n');
  const shell = async (commands = ''): Promise<string> =>
    (
      await run('bash', ['-ec', filledIn(commands)], {
        cwd: ROOT,
        env: { ...process.env, DATA_DIR: dataDir },
      })
    ).stdout;

  const { secret } = JSON.parse(await shell(subscribe)) as { readonly secret: string };
  await writeFile(join(dataDir, 'receiver.mjs'), filledIn(code ?? ''));
  receiver = spawn('bash', ['-ec', `exec env ${filledIn(receive ?? '', secret)}`], {
    cwd: dataDir,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const types: string[] = [];
  receiver.stdout?.on('data', (text: Buffer) => types.push(...String(text).trim().split('\n')));
  const seen = async (type: string, times: number): Promise<void> => {
    while (types.filter((one) => one === type).length < times)
      await once(receiver?.stdout as NodeJS.ReadStream, 'data');
  };
  await shell(event);
  await seen('user.created', 1);
  await shell(operate);
  await seen('test', 1);
  await seen('user.created', 2);
  const forged = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body: '{}' });
  expect(forged.status).toBe(400);
});
