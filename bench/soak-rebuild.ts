import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { openCore } from '../src/core/core.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import { writeBalanceEvents } from './balance-events.js';
import { LedgerClient } from './ledger-client.js';
import { makeDataDir, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * All projections of a long log are rebuilt, switched, rolled back and switched again by the
 * command line while the service is read and written. Fails (exit 1) when a read fails, contradicts
 * the ledger, or lacks a write that was answered before it, and when the switch of one projection
 * blocks its writer for longer than 50 ms; the time of the switch of all at once is printed.
 * `SOAK_EVENTS` (1 000 000), `SOAK_READERS` (8).
 */
const EVENTS = Number(process.env.SOAK_EVENTS ?? 1_000_000);
const READERS = Number(process.env.SOAK_READERS ?? 8);
const SWITCH_MS = 50;
/**
 * The balances of every account that `writeBalanceEvents` creates: 9 rewards in cents, 16 in
 * points, each with 100 left.
 */
const AVAILABLE = { CENTS: 900, PTS: 1_600 };

/** The faults, the first of each kind. */
class Faults {
  private readonly seen = new Map<string, { count: number; first: string }>();

  add(kind: string, detail: string): void {
    const known = this.seen.get(kind);
    if (known) known.count += 1;
    else this.seen.set(kind, { count: 1, first: detail });
  }

  get lines(): readonly string[] {
    return [...this.seen].map(
      ([kind, { count, first }]) => `${kind}: ${count} times, first ${first}`,
    );
  }
}

/** Reads and writes until it is stopped. */
class Load {
  reads = 0;
  writes = 0;
  slowestMs = 0;
  private isOver = false;
  private readonly work: Promise<unknown>;

  constructor(
    private readonly client: LedgerClient,
    private readonly accounts: number,
    private readonly faults: Faults,
  ) {
    this.work = Promise.all([
      ...Array.from({ length: READERS }, (_, number) => this.read(number)),
      this.writeAndRead(),
    ]);
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.work;
  }

  private async read(reader: number): Promise<void> {
    for (let turn = reader; !this.isOver; turn += READERS) {
      const balance = await this.balanceOf(`account-${(turn * 7_919) % this.accounts}`);
      if (balance && JSON.stringify(balance) !== JSON.stringify(AVAILABLE))
        this.faults.add('a mixture', JSON.stringify(balance));
    }
  }

  /** The next read sees each write, whichever generation answers it. */
  private async writeAndRead(): Promise<void> {
    await this.client.post('accountsync', { id: 'writer', subscription: { status: 'TRIAL' } });
    await this.client.post('user', { id: 'u', accountId: 'writer', firstName: 'Ann' });
    for (let given = 1; !this.isOver; given++) {
      const answer = await this.client.post('rewards/account/writer/user/u', {
        type: 'CREDIT',
        unit: 'CENTS',
        assignedCredit: 1,
      });
      if (answer.status !== 201) this.faults.add('a write that failed', String(answer.status));
      this.writes += 1;
      const balance = await this.balanceOf('writer');
      if (balance && balance['CENTS'] !== given)
        this.faults.add('a write that is not seen', `${balance['CENTS'] ?? 0} of ${given}`);
    }
  }

  private async balanceOf(account: string): Promise<Record<string, number> | undefined> {
    const { status, body, ms } = await this.client.get(`reward/balance?accountId=${account}`);
    this.reads += 1;
    this.slowestMs = Math.max(this.slowestMs, ms);
    if (status !== 200) {
      this.faults.add('a read that failed', `${status} ${JSON.stringify(body)}`);
      return undefined;
    }
    const items = body as readonly {
      readonly unit: string;
      readonly totalAvailableCredit: number;
    }[];
    const sorted = [...items].sort((a, b) => a.unit.localeCompare(b.unit));
    return Object.fromEntries(
      sorted.map(({ unit, totalAvailableCredit }) => [unit, totalAvailableCredit]),
    );
  }
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const apiKey = await fill(dataDir);
    const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
    try {
      console.log(
        `ready after ${((await service.ready(1_800_000)) / 1_000).toFixed(0)} s, the live projections caught up`,
      );
      const client = new LedgerClient({ url: service.url, apiKey, tenant: 'bench' });
      const faults = new Faults();
      const load = new Load(client, Math.ceil(EVENTS / 50), faults);
      await operate(dataDir, faults, load);
      await load.stop();
      client.close();
      console.log(
        `${load.reads} reads, ${load.writes} writes; slowest read ${load.slowestMs.toFixed(0)} ms`,
      );
      const code = await service.terminate();
      if (code !== 0) faults.add('the end of the service', String(code));
      if (faults.lines.length > 0) throw new Error(faults.lines.join('\n'));
    } finally {
      await service.kill();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

/** @returns the API key of the tenant that has the events. */
async function fill(dataDir: string): Promise<string> {
  const actor = { kind: 'system' as const, id: 'soak' };
  const config = loadConfig({ DATA_DIR: dataDir });
  const core = await openCore({
    config,
    logger: pino({ level: 'warn' }),
    actor,
    applicationName: 'soak-rebuild',
    fsync: false,
  });
  try {
    const options = {
      alias: 'bench',
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    } as const;
    const made = await core.tenantCommands.create(options);
    if ('refused' in made) throw new Error(made.refused);
    console.log(`${await writeBalanceEvents(core, EVENTS)} events written`);
    return made.liveApiKey;
  } finally {
    await core.close();
  }
}

async function operate(dataDir: string, faults: Faults, load: Load): Promise<void> {
  const projection = async (...words: readonly string[]): Promise<Record<string, unknown>> => {
    const before = { reads: load.reads, at: performance.now() };
    const document = await command(dataDir, 'projection', ...words);
    const seconds = (performance.now() - before.at) / 1_000;
    console.log(
      `${words.join(' ')}: ${seconds.toFixed(1)} s, ${load.reads - before.reads} reads meanwhile`,
    );
    return document;
  };
  const switched = async (...words: readonly string[]): Promise<number> => {
    const { heldMs } = await projection(...words);
    console.log(`  held for ${Number(heldMs).toFixed(1)} ms`);
    return Number(heldMs);
  };
  const built = await projection('rebuild', '--all');
  console.log(`  ${String(built['events'])} events in ${String(built['seconds'])} s`);
  const diff = await projection('diff', 'reward-balances');
  if (diff['count'] !== 0) faults.add('a difference', JSON.stringify(diff['count']));
  await switched('swap', '--all');
  for (let turn = 0; turn < 4; turn++) {
    const heldMs = await switched('rollback', 'reward-balances');
    if (!(heldMs < SWITCH_MS)) faults.add('a switch that took long', `${heldMs} ms`);
  }
}

async function command(
  dataDir: string,
  ...words: readonly string[]
): Promise<Record<string, unknown>> {
  const program = join(import.meta.dirname, '../src/cli/cli.js');
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words, '--json'], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
