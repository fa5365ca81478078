import autocannon from 'autocannon';
import type { LedgerClient } from './ledger-client.js';
import { makeDataDir, removeDataDir, startServiceProcess } from './service-process.js';
import { clientOf, makeAccount, makeTenant, withCore, type Tenant } from './webhook-tenants.js';

/**
 * What the writes of a tenant cost its own reads: balances of accounts are read while redemptions
 * go to all accounts of one tenant, by that tenant and by one that writes nothing, in turns. The
 * second one is the baseline: its reads have nothing to wait for.
 *
 * `BENCH_ROUNDS` (6), `BENCH_SECONDS` (4) a side and round, `BENCH_CONNECTIONS` (8) for the reads
 * and for the writes, `BENCH_ACCOUNTS` (400).
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 6);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 8);
const ACCOUNTS = Number(process.env.BENCH_ACCOUNTS ?? 400);
/** Reads go round in another order than writes. */
const STEP = 7;

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

/** The times of all answers, in milliseconds. @throws when one was not 2xx. */
function ask(url: string, { alias, key }: Tenant, next: () => Asked): Promise<readonly number[]> {
  const headers = {
    authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}`,
    'content-type': 'application/json',
  };
  return new Promise((resolve, reject) => {
    const times: number[] = [];
    const setupRequest = (request: autocannon.Request): autocannon.Request => {
      const { path, ...asked } = next();
      return { ...request, ...asked, headers, path: `/api/v1/${alias}/${path}` };
    };
    const options = { url, connections: CONNECTIONS, duration: SECONDS };
    const run = autocannon({ ...options, requests: [{ setupRequest }] }, (error, result) => {
      if (error instanceof Error) reject(error);
      else if (result.non2xx > 0) reject(new Error(`${result.non2xx} answers were not 2xx`));
      else resolve(times);
    });
    run.on('response', (_client, _status, _bytes, ms) => times.push(ms));
  });
}

const accountIds = Array.from({ length: ACCOUNTS }, (_, index) => `bench-${index}`);
const fill = (client: LedgerClient): Promise<readonly string[]> =>
  Promise.all(accountIds.map((id) => makeAccount(client, id)));

const percentile = (times: readonly number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN;

function report(name: string, times: readonly number[]): void {
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  const rate = times.length / ROUNDS / SECONDS;
  const figures = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${rate.toFixed(0)}/s`;
  process.stdout.write(`${name}: ${figures}\n`);
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const [writing, quiet] = await withCore(dataDir, (core) =>
      Promise.all([makeTenant(core, 'writing'), makeTenant(core, 'quiet')]),
    );
    const [writingClient, quietClient] = [clientOf(service, writing), clientOf(service, quiet)];
    const [rewards] = await Promise.all([fill(writingClient), fill(quietClient)]);
    writingClient.close();
    quietClient.close();
    let [written, read] = [0, 0];
    const redeem = (): Asked => ({
      method: 'POST',
      path: `credit/${rewards[written++ % ACCOUNTS] ?? ''}/redeem`,
      body: JSON.stringify({ amount: 1, unit: 'CENTS' }),
    });
    const balance = (): Asked => ({
      method: 'GET',
      path: `reward/balance?accountId=${accountIds[(read++ * STEP) % ACCOUNTS] ?? ''}`,
    });
    const sides = [
      { name: 'reads of a tenant that writes', tenant: writing, times: [] as number[] },
      { name: 'reads of another tenant', tenant: quiet, times: [] as number[] },
    ];
    for (let round = 0; round <= ROUNDS; round++)
      for (const { tenant, times } of sides) {
        const writes = ask(service.url, writing, redeem);
        const reads = await ask(service.url, tenant, balance);
        await writes;
        // The first round warms up.
        if (round > 0) times.push(...reads);
      }
    for (const { name, times } of sides) report(name, times);
    const [own, others] = sides.map(({ times }) => percentile(times, 0.5));
    process.stdout.write(`p50 ${((own ?? NaN) / (others ?? NaN)).toFixed(2)} times\n`);
  } finally {
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
