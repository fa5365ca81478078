import autocannon from 'autocannon';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { LedgerClient } from './ledger-client.js';
import {
  makeDataDir,
  printedKey,
  projectRoot,
  removeDataDir,
  startServiceProcess,
} from './service-process.js';

/**
 * Requests per second of the service as it ships (embedded Postgres with fsync, log level info)
 * against a bare Fastify process, over the same number of kept connections. All sides take turns,
 * so that a slow spell of the machine hits all; medians of the rounds.
 *
 * `BENCH_ROUNDS` (5), `BENCH_SECONDS` (4) per side and round, `BENCH_CONNECTIONS` (64),
 * `BENCH_ACCOUNTS` (500), `BENCH_LOG_LEVEL` (info). `BENCH_NODE_OPTIONS`: for the service's
 * process, e.g. `--cpu-prof --cpu-prof-dir=…`.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 64);
const ACCOUNTS = Number(process.env.BENCH_ACCOUNTS ?? 500);
const UNIT = 'CENTS';

interface Side {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly method: 'GET' | 'POST';
  /** One per request, in turn. */
  readonly paths: readonly string[];
  readonly body?: string;
  readonly rates: number[];
  readonly p50: number[];
  readonly p99: number[];
}

const side = (asked: Omit<Side, 'rates' | 'p50' | 'p99'>): Side => ({
  ...asked,
  rates: [],
  p50: [],
  p99: [],
});

/** @throws when anything but 200 was answered. */
async function measure(
  { url, headers, method, paths, body, rates, p50, p99 }: Side,
  seconds: number,
  keep: boolean,
): Promise<void> {
  let next = 0;
  const times: number[] = [];
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(
      {
        url,
        connections: CONNECTIONS,
        duration: seconds,
        requests: [
          {
            method,
            headers: {
              ...headers,
              ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            },
            ...(body === undefined ? {} : { body }),
            setupRequest: (request) => ({ ...request, path: paths[next++ % paths.length] ?? '/' }),
          },
        ],
      },
      (error: unknown, finished) => (error instanceof Error ? reject(error) : resolve(finished)),
    );
    run.on('response', (_client, _status, _bytes, ms) => times.push(ms));
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} answers were not 2xx, ${result.errors} errors`);
  if (!keep) return;
  times.sort((a, b) => a - b);
  rates.push(times.length / result.duration);
  p50.push(times[Math.floor(times.length * 0.5)] ?? NaN);
  p99.push(times[Math.floor(times.length * 0.99)] ?? NaN);
}

/**
 * Accounts with one reward each, large enough never to be used up. @returns the rewards' ids, in
 * the order of the accounts.
 */
async function fill(
  url: string,
  apiKey: string,
  accounts: readonly string[],
): Promise<readonly string[]> {
  const client = new LedgerClient({ url, apiKey });
  const rewardId = async (id: string): Promise<string> => {
    await client.post('accountsync', { id, subscription: { status: 'TRIAL' } });
    await client.post('user', { id, accountId: id });
    const given = await client.post(`rewards/account/${id}/user/${id}`, {
      type: 'CREDIT',
      unit: UNIT,
      assignedCredit: 1_000_000_000,
    });
    return z.object({ id: z.string() }).parse(given.body).id;
  };
  try {
    return await Promise.all(accounts.map(rewardId));
  } finally {
    client.close();
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

function line({ name, rates, p50, p99 }: Side, bare: Side): string {
  const rate = median(rates);
  const ratio = rate / median(bare.rates);
  return [
    name.padEnd(28),
    rate.toFixed(0).padStart(10),
    median(p50).toFixed(1).padStart(9),
    median(p99).toFixed(1).padStart(9),
    ratio.toFixed(3).padStart(9),
    ` (${rates.map((value) => value.toFixed(0)).join(' ')})`,
  ].join('');
}

async function compare(serviceUrl: string, apiKey: string, bareUrl: string): Promise<void> {
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => `bench-${index}`);
  const rewards = await fill(serviceUrl, apiKey, accounts);
  const headers = { authorization: `Basic ${Buffer.from(`:${apiKey}`).toString('base64')}` };
  const body = JSON.stringify({ amount: 1, unit: UNIT });
  const at = '/api/v1/demo';
  const bareGet = side({
    name: 'bare GET',
    url: bareUrl,
    headers,
    method: 'GET',
    paths: ['/reward/balance?accountId=bench-1'],
  });
  const barePath = [`/credit/${rewards[0] ?? ''}/redeem`];
  const barePost = side({
    name: 'bare POST',
    url: bareUrl,
    headers,
    method: 'POST',
    paths: barePath,
    body,
  });
  const balancePaths = accounts.map((id) => `${at}/reward/balance?accountId=${id}`);
  const balance = side({
    name: 'GET /reward/balance',
    url: serviceUrl,
    headers,
    method: 'GET',
    paths: balancePaths,
  });
  const redeemPaths = rewards.map((id) => `${at}/credit/${id}/redeem`);
  const redeem = side({
    name: 'POST /credit/{id}/redeem',
    url: serviceUrl,
    headers,
    method: 'POST',
    paths: redeemPaths,
    body,
  });
  const sides = [bareGet, balance, barePost, redeem];
  for (const each of sides) await measure(each, 1, false);
  for (let round = 0; round < ROUNDS; round++)
    for (const each of sides) await measure(each, SECONDS, true);
  console.log(
    `${CONNECTIONS} connections, ${ACCOUNTS} accounts, ${ROUNDS} rounds of ${SECONDS} s a side, medians`,
  );
  console.log(
    ['', 'requests/s', 'p50 ms', 'p99 ms', 'to bare']
      .map((head, index) => (index === 0 ? head.padEnd(28) : head.padStart(index === 1 ? 10 : 9)))
      .join(''),
  );
  console.log(
    [
      line(bareGet, bareGet),
      line(balance, bareGet),
      line(barePost, barePost),
      line(redeem, barePost),
    ].join('\n'),
  );
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const nodeOptions = (process.env.BENCH_NODE_OPTIONS ?? '')
    .split(' ')
    .filter((option) => option !== '');
  const service = await startServiceProcess({
    env: { DATA_DIR: dataDir, LOG_LEVEL: process.env.BENCH_LOG_LEVEL ?? 'info' },
    nodeOptions,
  });
  const bare = spawn(process.execPath, [join(projectRoot(), 'dist/bench/bare-fastify.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [port] = z
      .tuple([z.string().regex(/^\d+$/)])
      .parse(await once(createInterface(bare.stdout), 'line'));
    await service.ready();
    await compare(service.url, printedKey(service.output()), `http://127.0.0.1:${port}`);
    await service.terminate();
  } finally {
    bare.kill();
    await service.kill();
    await removeDataDir(dataDir);
  }
}

await main();
