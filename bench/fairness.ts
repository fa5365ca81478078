import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { openCore } from '../src/core/core.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import { ask, noTimes, now, type AskingClient, type Times } from './asking-clients.js';
import type { Crowd } from './fairness-crowd.js';
import { makeDataDir, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * What a tenant that asks for 50 times its share costs the others, and within a tenant what an
 * address that does so costs another one. Ten tenants ask alike: one client each, which reads and
 * writes in turn and pauses in between; then one tenant, or one address of a tenant, has 50 such
 * clients. All phases take turns. The clients share the service's processors. Exits with 1 when the
 * p99 of the other tenants is more than twice as long beside it, or one of their calls is refused.
 *
 * The p99 is that of all calls of all rounds: each call counts alike, and more than one is beyond
 * it. Of a round alone three calls decide. Rounds are short, so that a slow spell of the machine
 * meets both phases; the interval says how much it matters which rounds were measured.
 *
 * `BENCH_SECONDS` (2) a phase, `BENCH_ROUNDS` (8), `BENCH_TIMES` (50).
 */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8);
const TIMES = Number(process.env.BENCH_TIMES ?? 50);
const TENANTS = 10;
const AIM = 2;
const RESAMPLES = 200;

interface Tenant {
  readonly alias: string;
  readonly key: string;
}

/** Many clients of one tenant and address, on another thread. */
class CrowdThread {
  private constructor(private readonly worker: Worker) {}

  static async start(): Promise<CrowdThread> {
    const worker = new Worker(new URL('./fairness-crowd.js', import.meta.url));
    await once(worker, 'message');
    return new CrowdThread(worker);
  }

  /** So many clients ask until the end. */
  async ask(client: AskingClient, size: number, end: number): Promise<Times> {
    const crowd: Crowd = { client, size, end };
    this.worker.postMessage(crowd);
    const [times] = (await once(this.worker, 'message')) as [Times];
    return times;
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}

interface Phase {
  readonly service: Service;
  /** The first one is loud. */
  readonly tenants: readonly Tenant[];
  /** Clients of the loud tenant. */
  readonly loud: number;
  /** They call from another address, and the tenant's own client is the one that is looked at. */
  readonly fromElsewhere?: boolean;
}

interface Service {
  readonly port: number;
  readonly crowd: CrowdThread;
}

interface Side {
  /** One for each round. */
  readonly rounds: Times[];
  readonly loud: Times[];
}

/** Adds what the others saw, and the loud tenant. */
async function run(phase: Phase, { rounds, loud: loudRounds }: Side): Promise<void> {
  const { service, tenants, loud, fromElsewhere = false } = phase;
  const { port, crowd } = service;
  const end = now() + SECONDS * 1_000;
  const [first, ...others] = tenants.map((tenant) => ({ port, from: '127.0.0.1', ...tenant }));
  if (first === undefined) return;
  const times = noTimes();
  const crowding =
    loud > 0 && crowd.ask({ ...first, from: fromElsewhere ? '127.0.0.2' : first.from }, loud, end);
  const measured = fromElsewhere ? [first] : others;
  await Promise.all(measured.map((client) => ask(client, { account: 'own', end }, times)));
  rounds.push(times);
  loudRounds.push((await crowding) || noTimes());
}

const percentile = (ms: readonly number[], share: number): number =>
  [...ms].sort((a, b) => a - b)[Math.floor(ms.length * share)] ?? NaN;

const allOf = (rounds: readonly Times[]): readonly number[] => rounds.flatMap(({ ms }) => ms);
const refusedOf = (rounds: readonly Times[]): number =>
  rounds.reduce((sum, { refused }) => sum + refused, 0);

function report(name: string, { rounds, loud }: Side): void {
  const ms = allOf(rounds);
  const [p50, p99] = [percentile(ms, 0.5), percentile(ms, 0.99)];
  const asked = allOf(loud).length / rounds.length / SECONDS;
  process.stdout.write(
    `${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${ms.length} calls, ` +
      `${refusedOf(rounds)} refused; the loud one: ${asked.toFixed(0)} calls/s\n`,
  );
}

/** Of the p99 of all calls in these rounds. */
function ratioOf(alike: Side, beside: Side, rounds: readonly number[]): number {
  const p99 = (side: Side): number =>
    percentile(allOf(rounds.map((round) => side.rounds[round] ?? noTimes())), 0.99);
  return p99(beside) / p99(alike);
}

/** Nine of ten ratios are in there when as many rounds are drawn anew from those measured. */
function intervalOf(alike: Side, beside: Side): readonly [number, number] {
  const draw = (): number[] =>
    Array.from({ length: ROUNDS }, () => Math.floor(Math.random() * ROUNDS));
  const drawn = Array.from({ length: RESAMPLES }, () => ratioOf(alike, beside, draw()));
  return [percentile(drawn, 0.05), percentile(drawn, 0.95)];
}

async function measure(service: Service, tenants: readonly Tenant[]): Promise<void> {
  const empty = (): Side => ({ rounds: [], loud: [] });
  const [alike, beside, own, ownBeside] = [empty(), empty(), empty(), empty()];
  const pair = tenants.slice(0, 1);
  await run({ service, tenants, loud: 1 }, empty());
  for (let round = 0; round < ROUNDS; round++) {
    await run({ service, tenants, loud: 1 }, alike);
    await run({ service, tenants, loud: TIMES }, beside);
    await run({ service, tenants: pair, loud: 1, fromElsewhere: true }, own);
    await run({ service, tenants: pair, loud: TIMES, fromElsewhere: true }, ownBeside);
  }
  report('nine tenants, all alike', alike);
  report(`nine tenants, the tenth at ${TIMES} times its share`, beside);
  report('one client of a tenant', own);
  report(`one client of a tenant, another address of it at ${TIMES} times`, ownBeside);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
  const ratio = ratioOf(alike, beside, rounds);
  const [low, high] = intervalOf(alike, beside).map((one) => one.toFixed(2));
  process.stdout.write(
    `p99 of the other tenants: ${ratio.toFixed(2)} times (aim: ${AIM}; 90 % of draws of the ` +
      `rounds: ${low} to ${high})\n`,
  );
  if (!(ratio <= AIM) || refusedOf(beside.rounds) > 0) process.exitCode = 1;
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
  const crowd = await CrowdThread.start();
  try {
    await service.ready();
    await measure({ port: service.port, crowd }, await makeTenants(dataDir));
  } finally {
    await crowd.end();
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
