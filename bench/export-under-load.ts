import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { openCore, type Core } from '../src/core/core.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import { exportUnderLoad, type ExportUnderLoad, type Phase } from './export-load.js';
import { grantRewards } from './rewards-in-log.js';
import { makeDataDir, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * Exports of `BENCH_ROWS` (1 000 000) rewards while `BENCH_WRITES` (500) rewards a second are
 * granted or cancelled and others are read: whether each file is the state at its position, as a
 * fold of the log has it, and the p99 of the reads beside it against that of the same load without
 * an export just before. The clients share the processors of the service. Exits with 1 when a file
 * differs, a call fails, or the p99 of most rounds is more than twice as long.
 *
 * `BENCH_ROUNDS` (3), `BENCH_SECONDS` (10) of each phase before an export.
 */
const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const WRITES = Number(process.env.BENCH_WRITES ?? 500);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const READERS = 8;
const WRITERS = 50;
const AIM = 2;
const CATCH_UP_MS = 3_600_000;
const SCOPE = { tenant: 'bench', mode: 'live' } as const;

const coreOn = (dataDir: string, fsync: boolean): Promise<Core> =>
  openCore({
    config: loadConfig({ DATA_DIR: dataDir }),
    logger: pino({ level: 'warn' }),
    applicationName: 'bench-export-load',
    fsync,
    actor: { kind: 'system', id: 'bench' },
  });

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const apiKey = await fill(dataDir);
    const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
    const core = await coreOn(dataDir, true);
    try {
      await service.ready(CATCH_UP_MS);
      const rounds: ExportUnderLoad[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const seen = await exportUnderLoad({
          url: service.url,
          apiKey,
          core,
          scope: SCOPE,
          writesPerSecond: WRITES,
          writers: WRITERS,
          readers: READERS,
          phaseMs: SECONDS * 1_000,
        });
        report(seen);
        rounds.push(seen);
      }
      conclude(rounds);
    } finally {
      await core.close();
      await service.kill();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

/** @returns the key of the tenant. */
async function fill(dataDir: string): Promise<string> {
  const core = await coreOn(dataDir, false);
  try {
    const made = await core.tenantCommands.create({
      alias: SCOPE.tenant,
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    });
    if ('refused' in made) throw new Error(made.refused);
    console.log(`${await grantRewards(core, SCOPE, ROWS)} rewards granted`);
    return made.liveApiKey;
  } finally {
    await core.close();
  }
}

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;

const p99 = ({ reads }: Phase): number => percentile(reads, 0.99);
const ratioOf = ({ before, beside }: ExportUnderLoad): number => p99(beside) / p99(before);

function report({ before, beside, rows, bytes, difference }: ExportUnderLoad): void {
  console.log(`${rows} rows, ${(bytes / 1e6).toFixed(0)} MB: ${difference ?? 'as folded'}`);
  for (const [name, phase] of [
    ['before', before],
    ['beside', beside],
  ] as const) {
    const { ms, writes, notOffered, reads, faults } = phase;
    const perSecond = (writes / (ms / 1_000)).toFixed(0);
    console.log(
      `  ${name}: ${(ms / 1_000).toFixed(1)} s, ${perSecond} writes/s (${notOffered} not offered), ` +
        `${reads.length} reads, p50 ${percentile(reads, 0.5).toFixed(1)} ms, p99 ${p99(phase).toFixed(1)} ms, ` +
        `${faults.length} faults ${faults[0] ?? ''}`,
    );
  }
}

function conclude(rounds: readonly ExportUnderLoad[]): void {
  const ratios = rounds.map(ratioOf);
  const ratio = percentile(ratios, 0.5);
  const each = ratios.map((one) => one.toFixed(2)).join(', ');
  console.log(`p99 of reads beside an export: ${ratio.toFixed(2)} times (aim ${AIM}), ${each}`);
  const isWrong = rounds.some(
    ({ before, beside, difference }) =>
      difference !== undefined || before.faults.length + beside.faults.length > 0,
  );
  if (isWrong || !(ratio <= AIM)) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
