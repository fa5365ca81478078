// Over 5 s: starts the compiled service and runs the commands of guides one after the other.
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
let testKey: string;
/** Of the receiver. */
let port: number;
beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({
    env: { DATA_DIR: dataDir, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
  });
  await service.ready();
  testKey = /test API key\s+(\S+)/.exec(service.output())?.[1] ?? '';
  port = await freePort();
});
afterAll(async () => {
  receiver?.kill();
  await service.terminate();
  await removeDataDir(dataDir);
});

/** With the keys that a reader copies, and the ports of this run. */
const filledIn = (text: string, secret = ''): string =>
  text
    .replaceAll('test_…', testKey)
    .replaceAll('whsec_…', secret)
    .replaceAll(':3000', `:${service.port}`)
    .replaceAll('4000', String(port));

/** What each block of commands of a guide prints; they share a shell. */
async function printedBy(guide: string): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, 'docs/how-to', guide), 'utf8');
  const blocks = [...text.matchAll(/```sh\n([^]*?)```/g)].map(([, commands = '']) => commands);
  const { stdout } = await run('bash', ['-ec', filledIn(blocks.join('\necho "====="\n'))]);
  return stdout.split('=====\n');
}

test('the commands of the guide to a sign-up lead to a converted referral and its rewards', async () => {
  const [, , attributed, reward, paid, earned] = await printedBy('integrate-a-sign-up.md');
  expect(attributed).toContain('"referral":{"code":"ANNLEE"}');
  expect(reward).toContain('"discountPercent":10');
  expect(paid).toContain('"status":"PAID"');
  expect(earned).toMatch(/"totalAvailableCredit":1000.*"dateReferralPaid":\d+/s);
});

test('the commands of the guide to a checkout redeem credit and give it back', async () => {
  const [, available, redeemed, returned] = await printedBy('redeem-at-checkout.md');
  expect(available).toContain('"totalAvailableCredit":900');
  expect(redeemed).toBe('{"creditRedeemed":500,"creditAvailable":400,"unit":"CENTS"}');
  expect(returned).toContain('"name":"Order 1001 returned"');
});

test('the commands of the guide lead from a started service to a verified webhook and its repetition', async () => {
  const guide = await readFile(join(ROOT, 'docs/how-to/receive-webhooks.md'), 'utf8');
  const section = guide.slice(
    guide.indexOf('## The first webhook'),
    guide.indexOf('## The request'),
  );
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
