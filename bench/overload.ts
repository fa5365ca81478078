import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { LedgerClient } from './ledger-client.js';
import { OpenLoop, type Came } from './open-loop.js';
import type { Probed } from './overload-probe.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  residentMb,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.js';

/**
 * What the service does with more requests than it can answer: reads of balances and redemptions,
 * in turn, over distinct accounts. First the most that it can do (64 requests at a time, each
 * followed by the next), then an open loop at times of that rate, with what was really offered: the
 * generator shares the processors, and has so many connections. Beside it health is asked on a
 * thread of its own, on connections of its own. After each phase two seconds, then the closed loop
 * again.
 *
 * `BENCH_SECONDS` (5) a phase, `BENCH_TIMES` (1.5,2,5,10), `BENCH_CONNECTIONS` (1500),
 * `BENCH_ACCOUNTS` (400).
 */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const TIMES = (process.env.BENCH_TIMES ?? '1.5,2,5,10').split(',').map(Number);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 1_500);
const ACCOUNTS = Number(process.env.BENCH_ACCOUNTS ?? 400);
const CLOSED = 64;
const RECOVERY_MS = 2_000;
/** The compiler has then seen every step of both routes. */
const WARM_UP_SECONDS = 15;
const UNIT = 'CENTS';

/** Accounts with one reward each. @returns a read and a redemption of each, as they are sent. */
async function requestsOf(url: string, apiKey: string): Promise<readonly string[]> {
  const client = new LedgerClient({ url, apiKey });
  const head = [
    'Host: localhost',
    `Authorization: Basic ${Buffer.from(`:${apiKey}`).toString('base64')}`,
  ].join('\r\n');
  const body = JSON.stringify({ amount: 1, unit: UNIT });
  const post = `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  const made = async (_: unknown, index: number): Promise<readonly string[]> => {
    const id = `bench-${index}`;
    await client.post('accountsync', { id, subscription: { status: 'TRIAL' } });
    await client.post('user', { id, accountId: id });
    const given = await client.post(`rewards/account/${id}/user/${id}`, {
      type: 'CREDIT',
      unit: UNIT,
      assignedCredit: 1_000_000_000,
    });
    const reward = z.object({ id: z.string() }).parse(given.body);
    return [
      `GET /api/v1/demo/reward/balance?accountId=${id} HTTP/1.1\r\n${head}\r\n\r\n`,
      `POST /api/v1/demo/credit/${reward.id}/redeem HTTP/1.1\r\n${post}\r\n\r\n${body}`,
    ];
  };
  try {
    return (await Promise.all(Array.from({ length: ACCOUNTS }, made))).flat();
  } finally {
    client.close();
  }
}

/** Requests a second with so many at a time. */
async function closedLoop(
  port: number,
  requests: readonly string[],
  seconds: number,
): Promise<{ readonly rate: number; readonly p99: number }> {
  const loop = new OpenLoop({ port, connectionsMax: CLOSED, requests });
  // Each answer frees a connection, and what is due has none before: a closed loop.
  const came = await loop.send(100_000, seconds);
  loop.end();
  return { rate: came.accepted.length / seconds, p99: quantile(came.accepted, 0.99) };
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** The most of what it is asked at intervals, until it is told to stop. */
function watch(pid: number): () => Promise<number> {
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, await residentMb(pid));
      await delay(100);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return most;
  };
}

const ms = (value: number): string => value.toFixed(0);
const spread = (values: readonly number[]): string =>
  values.length === 0
    ? 'none'
    : [0.5, 0.99, 1].map((part) => ms(quantile(values, part))).join(' / ');

interface Phase {
  readonly times: number;
  readonly capacity: number;
  readonly came: Came;
  readonly probed: Probed;
  readonly memoryMb: number;
}

function print({ times, capacity, came, probed, memoryMb }: Phase): void {
  const accepted = came.accepted.length / SECONDS;
  const others = [...came.others].map(([status, count]) => `${status}: ${count}`).join(', ');
  console.log(
    [
      `${times} × wanted; offered ${(came.sent / SECONDS / capacity).toFixed(2)} × (${ms(came.sent / SECONDS)}/s, ${came.unsent} without a connection)`,
      `  accepted ${ms(accepted)}/s, ${(accepted / capacity).toFixed(2)} of the most; ms p50 / p99 / max ${spread(came.accepted)}`,
      `  refused ${came.refused.length}, ms ${spread(came.refused)}, without Retry-After ${came.withoutRetryAfter}; other answers ${others || 'none'}; connections ended ${came.lost}`,
      `  health ms p50 / p99 / max: live ${spread(probed.live)}, ready ${spread(probed.ready)}, failed ${probed.failed}; resident memory ${ms(memoryMb)} MB at most`,
    ].join('\n'),
  );
}

async function measure(service: ServiceProcess): Promise<void> {
  const { port, url } = service;
  const requests = await requestsOf(url, printedKey(service.output()));
  const pid = await service.pid();
  const probe = new Worker(new URL('./overload-probe.js', import.meta.url));
  probe.postMessage({ url });
  const tell = async (): Promise<Probed> => {
    probe.postMessage('tell');
    const [probed] = (await once(probe, 'message')) as [Probed];
    return probed;
  };
  await closedLoop(port, requests, WARM_UP_SECONDS);
  let before = await closedLoop(port, requests, SECONDS);
  console.log(
    `the most: ${ms(before.rate)}/s with ${CLOSED} at a time, p99 ${ms(before.p99)} ms; memory ${ms(await residentMb(pid))} MB; node ${process.version}`,
  );
  for (const times of TIMES) {
    const loop = new OpenLoop({ port, connectionsMax: CONNECTIONS, requests });
    await tell();
    const stop = watch(pid);
    const came = { ...(await loop.send(before.rate * times, SECONDS)) };
    const probed = await tell();
    const memoryMb = await stop();
    loop.end();
    await delay(RECOVERY_MS);
    const after = await closedLoop(port, requests, SECONDS);
    // Rewards grow with their redemptions, and the machine may be shared.
    print({ times, capacity: (before.rate + after.rate) / 2, came, probed, memoryMb });
    console.log(
      `  2 s later ${(after.rate / before.rate).toFixed(2)} of the rate before, p99 ${ms(after.p99)} ms`,
    );
    before = after;
  }
  await probe.terminate();
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    await measure(service);
    await service.terminate();
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}

await main();
