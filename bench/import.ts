import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import type { NewEvent } from '../src/event-log/event-log.js';
import type { ImportKind } from '../src/imports/rows/import-rows.js';
import { importFile } from '../src/operations/imports/import-file.js';
import type { ScopedContext } from '../src/operations/registry/context.js';
import { openCore, type Core } from '../src/stores/core.js';
import { makeDataDir, removeDataDir } from '../test/harness/service-process.js';

/**
 * Events per second of an import, against bulk appends through the event log's port in the same
 * run: 64 callers, each appending the events that the import wrote, one append for those of a row.
 * Files of `BENCH_ROWS` (10 000) users, half as many referrals, and as many rewards; the memory of
 * the process after a tenth of each file and at its end. Both sides on an embedded Postgres with
 * fsync.
 */
const ROWS = Number(process.env.BENCH_ROWS ?? 10_000);
const AIM = 0.25;
const CALLERS = 64;
const SCOPE = { tenant: 'bench', mode: 'live' } as const;
const FIRST_DAY = 1_700_000_000_000;

const FILES: Readonly<Record<ImportKind, () => Generator<string>>> = {
  *users() {
    yield 'id,accountId,email,firstName,lastName,referralCode,dateCreated,accountStatus,customFields.plan\n';
    for (let n = 0; n < ROWS; n += 1)
      yield `user-${n},account-${n},user${n}@example.com,Ann-Marie,Lee ${n},CODE${n},${FIRST_DAY + n},PAID,gold\n`;
  },
  *referrals() {
    yield 'id,referredAccount,referredUser,referrerAccount,referrerUser,dateReferralStarted,dateReferralPaid\n';
    for (let n = 0; n < ROWS / 2; n += 1)
      yield `r${n},account-${2 * n},user-${2 * n},account-${2 * n + 1},user-${2 * n + 1},${FIRST_DAY + n},\n`;
  },
  *rewards() {
    yield 'id,type,accountId,userId,unit,amount,redeemed,dateGiven\n';
    for (let n = 0; n < ROWS; n += 1)
      yield `w${n},CREDIT,account-${n},user-${n},CENTS,1000,${n % 3 === 0 ? 250 : 0},${FIRST_DAY + n}\n`;
  },
};

const rssMb = (): number => Math.round(process.memoryUsage().rss / 1024 / 1024);

const contextOf = (core: Core, onProgress: ScopedContext['onProgress']): ScopedContext =>
  ({
    core,
    operationsPool: () => core.pool,
    scope: SCOPE,
    by: { name: 'bench', channel: 'cli' },
    signal: new AbortController().signal,
    onProgress,
    pauseForRequests: () => Promise.resolve(),
    note: () => undefined,
    warn: console.warn,
  }) as unknown as ScopedContext;

/** Imports the three files. @returns the events and the seconds that they took. */
async function imported(core: Core, dataDir: string): Promise<{ events: number; seconds: number }> {
  let seconds = 0;
  const before = await eventsIn(core);
  for (const kind of ['users', 'referrals', 'rewards'] as const) {
    const file = join(dataDir, `${kind}.csv`);
    await pipeline(Readable.from(FILES[kind]()), createWriteStream(file));
    let early = 0;
    const context = contextOf(core, (phase, done, total = 0) => {
      if (phase === 'importing' && early === 0 && done >= total / 10) early = rssMb();
    });
    const begun = performance.now();
    const answer = await importFile(context, kind, { file, dryRun: false });
    const took = (performance.now() - begun) / 1000;
    seconds += took;
    const { rows, rejected } = answer;
    console.log(
      `${kind}: ${rows} rows in ${took.toFixed(1)} s, ${(rows / took).toFixed(0)} a second, ${rejected} rejected; memory ${early} MB after a tenth, ${rssMb()} MB at the end`,
    );
  }
  return { events: (await eventsIn(core)) - before, seconds };
}

async function eventsIn({ pool }: Core): Promise<number> {
  const { rows } = await pool.query<{ events: string }>(
    'select count(*) as events from ledger.events',
  );
  return Number(rows[0]?.events);
}

/** Appends as many events of the same bytes to streams of their own. @returns its seconds. */
async function appended({ log, pool }: Core, events: number): Promise<number> {
  const { rows: samples } = await pool.query<{ type: string; data: string; metadata: string }>(
    `select type, data, metadata from ledger.events order by position desc limit 1000`,
  );
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < events) {
      const sample = samples[next++ % samples.length];
      const event = { ...sample, id: randomUUID() } as NewEvent;
      const stream = `referral-account-live.bench.${randomUUID().replaceAll('-', '')}`;
      const { kind } = await log.append(stream, 'no-stream', [event]);
      if (kind !== 'appended') throw new Error('a conflict where there can be none');
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, call));
  return (performance.now() - begun) / 1000;
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'warn' }),
      applicationName: 'bench-import',
      actor: { kind: 'system', id: 'bench' },
      loadsBus: true,
    });
    try {
      await core.tenantCommands.create({
        alias: SCOPE.tenant,
        programType: 'API_ONLY',
        openEndpoints: false,
        program: DEFAULT_PROGRAM,
      });
      const { events, seconds } = await imported(core, dataDir);
      const plain = await appended(core, events);
      const [imports, appends] = [events / seconds, events / plain];
      const ratio = imports / appends;
      console.log(
        `import ${imports.toFixed(0)} events/s, bulk append ${appends.toFixed(0)} events/s, ratio ${ratio.toFixed(2)}; aim ${AIM} ${ratio >= AIM ? 'met' : 'missed'}`,
      );
    } finally {
      await core.close();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

await main();
