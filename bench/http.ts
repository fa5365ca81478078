import autocannon from 'autocannon';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { LedgerClient } from '../test/harness/ledger-client.js';
import {
  makeDataDir,
  printedKey,
  projectRoot,
  removeDataDir,
  startServiceProcess,
} from '../test/harness/service-process.js';
import { withCore } from '../test/harness/webhook-tenants.js';

/**
 * Requests per second of the service as it ships (embedded Postgres with fsync, log level info)
 * against a bare Fastify process that reads or inserts one row of the same Postgres, over the same
 * number of kept connections. All sides take turns, so that a slow spell of the machine hits all;
 * medians of the rounds. Also the processor's time of a request in the serving process, which
 * other work on the machine changes least.
 *
 * `BENCH_ROUNDS` (5), `BENCH_SECONDS` (4) per side and round, `BENCH_CONNECTIONS` (64),
 * `BENCH_ACCOUNTS` (400), `BENCH_LOG_LEVEL` (info), `BENCH_ONLY`: a part of the names to measure.
 * `BENCH_NODE_OPTIONS`: for the service's process, e.g. `--cpu-prof --cpu-prof-dir=…`.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 64);
const ACCOUNTS = Number(process.env.BENCH_ACCOUNTS ?? 400);
const ONLY = process.env.BENCH_ONLY ?? '';
const UNIT = 'CENTS';
/** Of `/proc/<pid>/stat`, whatever the kernel counts in. */
const TICKS_PER_SECOND = 100;

/** A process that answers. */
interface Server {
  readonly url: string;
  readonly pid: number;
}

interface Asked {
  readonly name: string;
  /** Names the bare side that it is compared with. */
  readonly against: 'bare GET' | 'bare POST';
  readonly server: Server;
  readonly method: 'GET' | 'POST';
  /** One per request, in turn. */
  readonly requests: readonly { readonly path: string; readonly body?: string }[];
}

class Side {
  readonly rates: number[] = [];
  readonly p50: number[] = [];
  readonly p99: number[] = [];
  /** Microseconds of a processor for each request. */
  readonly cost: number[] = [];

  constructor(readonly asked: Asked) {}

  /** @throws when anything but 2xx was answered. */
  async measure(apiKey: string, seconds: number, keep: boolean): Promise<void> {
    const { server, method, requests } = this.asked;
    const headers = {
      authorization: `Basic ${Buffer.from(`:${apiKey}`).toString('base64')}`,
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
    };
    let next = 0;
    const times: number[] = [];
    const before = await processorSeconds(server.pid);
    const result = await new Promise<autocannon.Result>((resolve, reject) => {
      const run = autocannon(
        {
          url: server.url,
          connections: CONNECTIONS,
          duration: seconds,
          requests: [
            {
              method,
              headers,
              setupRequest: (request) => ({ ...request, ...requests[next++ % requests.length] }),
            },
          ],
        },
        (error: unknown, finished) => (error instanceof Error ? reject(error) : resolve(finished)),
      );
      run.on('response', (_client, _status, _bytes, ms) => times.push(ms));
    });
    if (result.non2xx > 0 || result.errors > 0)
      throw new Error(
        `${this.asked.name}: ${result.non2xx} answers were not 2xx, ${result.errors} errors`,
      );
    if (!keep) return;
    const used = (await processorSeconds(server.pid)) - before;
    times.sort((a, b) => a - b);
    this.rates.push(times.length / result.duration);
    this.p50.push(times[Math.floor(times.length * 0.5)] ?? NaN);
    this.p99.push(times[Math.floor(times.length * 0.99)] ?? NaN);
    this.cost.push((used / times.length) * 1e6);
  }
}

/** Of a process and its threads so far. */
async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may contain blanks: utime and stime are the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

const codeOf = (id: string): string => id.replace('-', '').toUpperCase();

/** The rewards of an account. */
interface Filled {
  /** Large enough never to be used up. */
  readonly redeemed: string;
  /** Never redeemed: a reward is answered with all of its redemptions. */
  readonly read: string;
}

/** Accounts with two rewards each. @returns them in the order of the accounts. */
async function fill(
  url: string,
  apiKey: string,
  accounts: readonly string[],
): Promise<readonly Filled[]> {
  const client = new LedgerClient({ url, apiKey });
  const give = async (id: string): Promise<string> => {
    const given = await client.post(`rewards/account/${id}/user/${id}`, {
      type: 'CREDIT',
      unit: UNIT,
      assignedCredit: 1_000_000_000,
    });
    return z.object({ id: z.string() }).parse(given.body).id;
  };
  const filled = async (id: string): Promise<Filled> => {
    await client.post('accountsync', { id, subscription: { status: 'TRIAL' } });
    await client.post('user', { id, accountId: id, referralCode: codeOf(id) });
    return { redeemed: await give(id), read: await give(id) };
  };
  try {
    return await Promise.all(accounts.map(filled));
  } finally {
    client.close();
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

function line({ asked, rates, p50, p99, cost }: Side, bare: Side): string {
  const rate = median(rates);
  return [
    asked.name.padEnd(32),
    rate.toFixed(0).padStart(10),
    median(p50).toFixed(1).padStart(9),
    median(p99).toFixed(1).padStart(9),
    (rate / median(bare.rates)).toFixed(3).padStart(9),
    median(cost).toFixed(0).padStart(10),
    (median(bare.cost) / median(cost)).toFixed(3).padStart(9),
    `  (${rates.map((value) => value.toFixed(0)).join(' ')})`,
  ].join('');
}

const HEAD = ['requests/s', '   p50 ms', '   p99 ms', '  to bare', '  µs each', '  to bare'];

const get = (path: string): { readonly path: string } => ({ path });

const post = (path: string, body: unknown): { readonly path: string; readonly body: string } => ({
  path,
  body: JSON.stringify(body),
});

/** The sides by the routes that they ask. */
async function sidesOf(service: Server, bare: Server, apiKey: string): Promise<readonly Side[]> {
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => `bench-${index}`);
  const rewards = await fill(service.url, apiKey, accounts);
  const [hot] = await fill(service.url, apiKey, ['bench-hot']);
  const at = '/api/v1/demo';
  const redeem = { amount: 1, unit: UNIT };
  const reads = (
    name: string,
    path: (id: string, index: number) => string,
    server = service,
  ): Asked => ({
    name,
    against: 'bare GET',
    server,
    method: 'GET',
    requests: accounts.map((id, index) => get(path(id, index))),
  });
  const writes = (name: string, requests: Asked['requests'], server = service): Asked => ({
    name,
    against: 'bare POST',
    server,
    method: 'POST',
    requests,
  });
  let changes = 0;
  const changed = accounts.flatMap((id) => [id, id]);
  const asked = [
    reads('bare GET', (id) => `/reward/balance?accountId=${id}`, bare),
    reads('GET /reward/balance', (id) => `${at}/reward/balance?accountId=${id}`),
    reads('GET /account/{id}/user/{id}', (id) => `${at}/account/${id}/user/${id}`),
    reads('GET /code/{code}', (id) => `${at}/code/${codeOf(id)}`),
    reads('GET /reward/{id}', (_, index) => `${at}/reward/${rewards[index]?.read ?? ''}`),
    writes(
      'bare POST',
      rewards.map(({ redeemed }) => post(`/credit/${redeemed}/redeem`, redeem)),
      bare,
    ),
    writes(
      'POST /credit/{id}/redeem',
      rewards.map(({ redeemed }) => post(`${at}/credit/${redeemed}/redeem`, redeem)),
    ),
    writes('POST redeem of one account', [
      post(`${at}/credit/${hot?.redeemed ?? ''}/redeem`, redeem),
    ]),
    writes(
      'POST /user',
      changed.map((id) =>
        post(`${at}/user`, { id, accountId: id, firstName: `N${(changes += 1)}` }),
      ),
    ),
    writes(
      'POST /accountsync',
      changed.map((id, index) =>
        post(`${at}/accountsync`, {
          id,
          subscription: { status: index % 2 === 0 ? 'FREE' : 'TRIAL' },
        }),
      ),
    ),
  ];
  const isAsked = ({ name }: Asked): boolean => name.startsWith('bare') || name.includes(ONLY);
  return asked.filter(isAsked).map((each) => new Side(each));
}

async function compare(service: Server, apiKey: string, bare: Server): Promise<void> {
  const sides = await sidesOf(service, bare, apiKey);
  for (const each of sides) await each.measure(apiKey, 1, false);
  for (let round = 0; round < ROUNDS; round++)
    for (const each of sides) await each.measure(apiKey, SECONDS, true);
  console.log(
    `${CONNECTIONS} connections, ${ACCOUNTS} accounts, ${ROUNDS} rounds of ${SECONDS} s a side, medians; node ${process.version}`,
  );
  console.log(`${''.padEnd(32)}${HEAD.join('')}`);
  for (const each of sides) {
    const against = sides.find(({ asked }) => asked.name === each.asked.against);
    if (against !== undefined) console.log(line(each, against));
  }
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
  try {
    await service.ready();
    await withCore(dataDir, async ({ databaseUrl }) => {
      const bare = spawn(process.execPath, [join(projectRoot(), 'dist/bench/bare-fastify.js')], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, DATABASE_URL: databaseUrl() },
      });
      try {
        const [port] = z
          .tuple([z.string().regex(/^\d+$/)])
          .parse(await once(createInterface(bare.stdout), 'line'));
        const bareServer = { url: `http://127.0.0.1:${port}`, pid: bare.pid ?? NaN };
        const server = { url: service.url, pid: await service.pid() };
        await compare(server, printedKey(service.output()), bareServer);
      } finally {
        bare.kill();
      }
    });
    await service.terminate();
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}

await main();
