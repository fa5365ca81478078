import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { openCore } from '../src/core/core.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import { makeDataDir, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * What a tenant that asks for 50 times its share costs the others, and within a tenant what an
 * address that does so costs another one. Ten tenants ask alike: one client each, which reads and
 * writes in turn and pauses in between; then one tenant, or one address of a tenant, has 50 such
 * clients. All phases take turns. The clients share the service's processors. Exits with 1 when the
 * p99 of the other tenants is more than twice as long beside it, or one of their calls is refused.
 *
 * `BENCH_SECONDS` (4) a phase, `BENCH_ROUNDS` (4), `BENCH_TIMES` (50).
 */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4);
const TIMES = Number(process.env.BENCH_TIMES ?? 50);
const TENANTS = 10;
const PAUSE_MS = 50;
const AIM = 2;

interface Client {
  readonly port: number;
  readonly alias: string;
  readonly key: string;
  readonly from: string;
}

interface Tenant {
  readonly alias: string;
  readonly key: string;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** The status of one call; 0: the connection was lost. */
function call(client: Client, agent: Agent, { method, path, body }: Asked): Promise<number> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const options = {
    host: '127.0.0.1',
    port: client.port,
    localAddress: client.from,
    path: `/api/v1/${client.alias}/${path}`,
    method,
    agent,
    headers: {
      authorization: `Basic ${Buffer.from(`:${client.key}`).toString('base64')}`,
      ...(text === ''
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
  };
  return new Promise((resolve) => {
    request(options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', () => resolve(0))
      .end(text);
  });
}

interface Times {
  readonly ms: number[];
  refused: number;
}

/** One client until the end: a write and a read of its own account, in turn. */
async function ask(client: Client, account: string, end: number, times?: Times): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const calls: readonly Asked[] = [
    {
      method: 'POST',
      path: 'accountsync',
      body: { id: account, subscription: { status: 'TRIAL' } },
    },
    { method: 'GET', path: `reward/balance?accountId=${account}` },
  ];
  await delay(Math.random() * PAUSE_MS);
  for (let n = 0; performance.timeOrigin + performance.now() < end; n++) {
    const began = performance.now();
    const asked = calls[n % calls.length];
    if (asked === undefined) return;
    const status = await call(client, agent, asked);
    times?.ms.push(performance.now() - began);
    if (times && status !== 200) times.refused += 1;
    await delay(PAUSE_MS * (0.5 + Math.random()));
  }
  agent.destroy();
}

interface Crowd {
  readonly client: Client;
  readonly end: number;
}

/** Many clients of one tenant and address, on another thread. */
function crowd(client: Client, end: number): Worker {
  const given: Crowd = { client, end };
  return new Worker(new URL(import.meta.url), { workerData: given });
}

async function askAsCrowd({ client, end }: Crowd): Promise<void> {
  await Promise.all(Array.from({ length: TIMES }, (_, n) => ask(client, `crowd-${n}`, end)));
  parentPort?.close();
}

/** @param beside who asks 50 times as much meanwhile, as the tenant's number and its address. */
async function phase(
  port: number,
  tenants: readonly Tenant[],
  times: Times,
  beside?: { readonly tenant: number; readonly from: string },
): Promise<void> {
  const end = performance.timeOrigin + performance.now() + SECONDS * 1_000;
  const clients = tenants.map((tenant) => ({ port, from: '127.0.0.1', ...tenant }));
  const many = beside && clients[beside.tenant];
  const worker = beside && many && crowd({ ...many, from: beside.from }, end);
  const gone = new Promise((resolve) => worker?.once('exit', resolve) ?? resolve(undefined));
  // The tenant with many is not among the others, but when its other address is looked at.
  const others = beside?.from === '127.0.0.2' ? clients.slice(0, 1) : clients.slice(1);
  await Promise.all(others.map((client) => ask(client, 'own', end, times)));
  await gone;
}

const percentile = ({ ms }: Times, share: number): number =>
  [...ms].sort((a, b) => a - b)[Math.floor(ms.length * share)] ?? NaN;

function report(name: string, times: Times): void {
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  process.stdout.write(
    `${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${times.ms.length} calls, ${times.refused} refused\n`,
  );
}

async function measure(port: number, tenants: readonly Tenant[]): Promise<void> {
  const empty = (): Times => ({ ms: [], refused: 0 });
  const [alike, beside, own, ownBeside] = [empty(), empty(), empty(), empty()];
  await phase(port, tenants, empty());
  for (let round = 0; round < ROUNDS; round++) {
    await phase(port, tenants, alike);
    await phase(port, tenants, beside, { tenant: 0, from: '127.0.0.1' });
    await phase(port, tenants.slice(0, 2), own);
    await phase(port, tenants, ownBeside, { tenant: 0, from: '127.0.0.2' });
  }
  report('nine tenants, all alike', alike);
  report(`nine tenants, the tenth at ${TIMES} times its share`, beside);
  report('one client of a tenant', own);
  report(`one client of a tenant, another address of it at ${TIMES} times`, ownBeside);
  const ratio = percentile(beside, 0.99) / percentile(alike, 0.99);
  process.stdout.write(`p99 of the other tenants: ${ratio.toFixed(2)} times (aim: ${AIM})\n`);
  if (!(ratio <= AIM) || beside.refused > 0) process.exitCode = 1;
}

async function makeTenants(dataDir: string): Promise<readonly Tenant[]> {
  const core = await openCore({
    config: loadConfig({ DATA_DIR: dataDir }),
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'bench' },
    applicationName: 'bench',
  });
  const tenants: Tenant[] = [];
  for (let n = 0; n < TENANTS; n++) {
    const alias = `tenant-${n}`;
    const created = await core.tenantCommands.create({
      alias,
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    });
    if ('refused' in created) throw new Error(created.refused);
    tenants.push({ alias, key: created.liveApiKey });
  }
  await core.close();
  return tenants;
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    await measure(service.port, await makeTenants(dataDir));
  } finally {
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await (isMainThread ? main() : askAsCrowd(workerData as Crowd));
