import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * One user's events with as many different names of numeric fields as calls can carry, on a service
 * with a small heap; then a restart, and a write to that account. Fails (exit 1) when the process
 * ends, or when the write is not accepted. `SOAK_CALLS` (700), `SOAK_HEAP_MB` (512).
 */
const CALLS = Number(process.env.SOAK_CALLS ?? 700);
const HEAP_MB = Number(process.env.SOAK_HEAP_MB ?? 512);
const EVENTS = 100;
const FIELDS = 300;
const WRITE_MS_MAX = 300_000;

type Running = Awaited<ReturnType<typeof startServiceProcess>>;

async function post({ url }: Running, key: string, path: string, body: unknown): Promise<number> {
  const response = await fetch(`${url}/api/v1/demo${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`:${key}`)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

const eventsOf = (call: number): readonly unknown[] =>
  Array.from({ length: EVENTS }, (_, event) => ({
    key: 'visit',
    fields: Object.fromEntries(
      Array.from({ length: FIELDS }, (_field, n) => [`n${call}_${event}_${n}`, n]),
    ),
  }));

const accountOf = (id: string) => ({ id, subscription: { status: 'TRIAL' } });

async function fill(service: Running, key: string): Promise<void> {
  for (const id of ['filled', 'other'])
    if ((await post(service, key, '/accountsync', accountOf(id))) !== 200)
      throw new Error('an account was not made');
  await post(service, key, '/user', { id: 'u', accountId: 'filled' });
  const startedAt = performance.now();
  for (let call = 0; call < CALLS; call++) {
    const body = { accountId: 'filled', userId: 'u', events: eventsOf(call) };
    const status = await post(service, key, '/open/account/filled/user/u/events', body);
    if (status !== 200) throw new Error(`call ${call} was answered with ${status}`);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${CALLS} calls, ${CALLS * EVENTS * FIELDS} names, ${seconds.toFixed(0)} s`);
}

/** Until it is accepted: an account with a long past is read for longer than a request may take. */
async function writeAgain(service: Running, key: string): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const ms = performance.now() - startedAt;
    if (ms > WRITE_MS_MAX) throw new Error('the write was not accepted');
    const other = await post(service, key, '/accountsync', accountOf('other'));
    if (other !== 200) throw new Error(`another account was answered with ${other}`);
    const status = await post(service, key, '/accountsync', accountOf('filled'));
    if (status === 200) break;
    if (status !== 503) throw new Error(`the write was answered with ${status}`);
  }
  console.log(`written after the restart in ${(performance.now() - startedAt).toFixed(0)} ms`);
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const env = { DATA_DIR: dataDir };
  const options = { env, nodeOptions: [`--max-old-space-size=${HEAP_MB}`] };
  let service = await startServiceProcess(options);
  try {
    await service.ready();
    const key = printedKey(service.output());
    const cli = join(process.cwd(), 'dist/bin/cli.js');
    await promisify(execFile)(
      process.execPath,
      [cli, 'tenant', 'update', 'demo', '--open-endpoints'],
      { env: { ...process.env, ...env } },
    );
    await fill(service, key);
    await service.terminate();
    service = await startServiceProcess(options);
    await service.ready();
    await writeAgain(service, key);
    const code = await service.terminate();
    if (code !== 0) throw new Error(`the last stop ended with ${code}`);
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
