import { createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { to as copyTo } from 'pg-copy-streams';
import { pino } from 'pino';
import type { Pool } from 'pg';
import { accountProjectors } from '../projections/account-projectors.js';
import { loadConfig } from '../src/config/config.js';
import { openCore, type Core } from '../src/stores/core.js';
import type { ExportFormat, ExportType } from '../src/exports/export-order.js';
import { writeExportFile, type ExportParts } from '../src/exports/write-export-file.js';
import { openPool } from '../src/postgres/database.js';
import { ensureLiveGenerations } from '../src/projecting/generations/generations.js';
import { LiveGenerations } from '../src/projecting/generations/live-generations.js';
import { makeDataDir, removeDataDir } from '../test/harness/service-process.js';

/**
 * How long a file of `BENCH_ROWS` (1 000 000) rewards and users takes, against COPY of the same
 * columns by one process of Postgres into a file, as CSV, in the same run; and how much memory the
 * writing takes, with a tenth of the rows and with all. XLSX is reported apart, of
 * `BENCH_XLSX_ROWS` (100 000).
 *
 * COPY and export take turns `BENCH_ROUNDS` (2) times, so that a slow spell hits both, and the best
 * of each counts.
 */
const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const XLSX_ROWS = Number(process.env.BENCH_XLSX_ROWS ?? 100_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 2);
const AIM = 0.5;
const AIM_MEMORY_MB = 60;
const FIRST_DAY = 1_700_000_000_000;

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'warn' }),
      applicationName: 'bench-export',
      fsync: false,
      actor: { kind: 'system', id: 'bench' },
    });
    const pool = openPool({ url: core.databaseUrl, max: 4, applicationName: 'bench-export' });
    try {
      await ensureLiveGenerations(pool, accountProjectors);
      await fill(pool);
      await run(partsOf(core, pool), pool, dataDir);
    } finally {
      await pool.end();
      await core.close();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

const partsOf = ({ log }: Core, pool: Pool): ExportParts => ({
  pool,
  log,
  generations: new LiveGenerations(pool, accountProjectors),
  waitFor: () => Promise.resolve(true),
  defaultProgramOf: () => Promise.resolve('default'),
  publicUrl: () => 'https://refer.example.com',
});

/** Tenants: `all` has the rows, `tenth` a tenth of them. */
async function fill(pool: Pool): Promise<void> {
  for (const [tenant, rows] of [
    ['all', ROWS],
    ['tenth', ROWS / 10],
    ['xlsx', XLSX_ROWS],
  ] as const) {
    console.log(`filling ${rows} rewards and users`);
    await pool.query(REWARDS, [tenant, rows, FIRST_DAY]);
    await pool.query(ACCOUNTS, [tenant, rows]);
    await pool.query(USERS, [tenant, rows, FIRST_DAY]);
  }
  for (const table of ['rm_rewards_1.rewards', 'rm_users_1.users', 'rm_users_1.user_accounts'])
    await pool.query(`vacuum analyze ${table}`);
}

const REWARDS = `
  insert into rm_rewards_1.rewards (reward_id, tenant, mode, account_ref, person, account_id, user_id, type, source, unit, cancellable, discount_percent,
    assigned_credit, redeemed_credit, redeemed_times, redeems_automatically, program_id, date_given, date_expires, date_cancelled, date_changed)
  select md5($1 || i) || '-' || i, $1, 'live', md5($1 || i % 200000), md5('p' || i), 'account-' || i % 200000, 'user-' || i,
    case i % 10 when 0 then 'PCT_DISCOUNT' else 'CREDIT' end, 'FRIEND_SIGNUP', case i % 10 when 0 then '%' else 'CENTS' end, true,
    case i % 10 when 0 then 10 end, case when i % 10 > 0 then 1000 + i end, case when i % 10 > 0 then 0 end, 0, false, 'default', $3::bigint + i * 37,
    case i % 3 when 0 then $3::bigint + 9e10::bigint end, case i % 50 when 0 then $3::bigint + i * 41 end, $3::bigint + i * 41
  from generate_series(1, $2::integer) i`;

const ACCOUNTS = `
  insert into rm_users_1.user_accounts
  select md5($1 || i), $1, 'live', 'account-' || i, null, null, null, null, false from generate_series(0, least(200000, $2::integer) - 1) i`;

const USERS = `
  insert into rm_users_1.users
  select md5($1 || 'p' || i), $1, 'live', md5($1 || i % 200000), 'user-' || i, 'user' || i || '@example.com', 'Ann-Marie', 'Lee, the ' || i || '.',
    'user' || i || '@example.com', jsonb_build_object('id', 'user-' || i, 'email', 'user' || i || '@example.com', 'firstName', 'Ann-Marie',
      'lastName', 'Lee, the ' || i || '.', 'imageUrl', 'https://example.com/images/' || i || '.png', 'locale', 'en_US', 'countryCode', 'US',
      'referable', true, 'customFields', jsonb_build_object('plan', 'gold', 'seats', i % 100, 'trial', i % 2 = 0),
      'segments', jsonb_build_array('vip', 'early'), 'cookieId', null, 'referralSource', 'newsletter', 'firstSeenIP', '203.0.113.7',
      'lastSeenIP', '203.0.113.9', 'firstSeenUserAgent', null, 'lastSeenUserAgent', null),
    jsonb_build_object('default', 'ANN' || i), $3::bigint + i * 37, null, $3::bigint + i * 41
  from generate_series(1, $2::integer) i`;

/** COPY of the same columns, by type. */
const PLAIN: Readonly<Partial<Record<ExportType, string>>> = {
  REWARD: `select reward_id, type, user_id, account_id, unit, coalesce(assigned_credit, discount_percent, amount), source, date_given, date_expires, date_cancelled
    from rm_rewards_1.rewards where tenant = 'all' and mode = 'live'`,
  USER: `select user_id, account_id, email, first_name, last_name, profile ->> 'imageUrl', profile ->> 'firstSeenIP', profile ->> 'lastSeenIP', date_created,
    md5(email), profile ->> 'referralSource', profile ->> 'locale', ${[1, 2, 3, 4, 5].map(() => `'https://refer.example.com/s/all/' || (primary_codes ->> 'default') || '?m=FACEBOOK&e=UNKNOWN'`).join(', ')},
    primary_codes ->> 'default', profile ->> 'segments', profile -> 'customFields' ->> 'plan', profile -> 'customFields' ->> 'seats', profile -> 'customFields' ->> 'trial'
    from rm_users_1.users u left join rm_users_1.user_accounts a using (account_ref) where u.tenant = 'all' and u.mode = 'live'`,
};

interface Measured {
  readonly seconds: number;
  readonly megabytes: number;
}

async function plainCopy(pool: Pool, type: ExportType, path: string): Promise<Measured> {
  const client = await pool.connect();
  try {
    // As an export runs: more processes of the server than one are for other reads.
    await client.query('set max_parallel_workers_per_gather = 0');
    const startedAt = performance.now();
    const lines = client.query(copyTo(`copy (${PLAIN[type] ?? ''}) to stdout (format csv)`));
    await pipeline(lines, createWriteStream(path));
    const seconds = (performance.now() - startedAt) / 1_000;
    return { seconds, megabytes: (await stat(path)).size / 1e6 };
  } finally {
    client.release();
  }
}

interface Order {
  readonly tenant: string;
  readonly type: ExportType;
  readonly format: ExportFormat;
}

async function exported(
  parts: ExportParts,
  { tenant, type, format }: Order,
  path: string,
): Promise<Measured & { readonly peakMb: number }> {
  const file = await open(path, 'w');
  try {
    const idle = process.memoryUsage.rss();
    let peak = idle;
    const startedAt = performance.now();
    const { bytes } = await writeExportFile(
      parts,
      { scope: { tenant, mode: 'live' }, type, format, filters: {} },
      {
        notBefore: undefined,
        sink: { write: async (chunk) => void (await file.write(chunk)) },
        progress: () => {
          peak = Math.max(peak, process.memoryUsage.rss());
        },
        signal: new AbortController().signal,
      },
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    return { seconds, megabytes: bytes / 1e6, peakMb: (peak - idle) / 2 ** 20 };
  } finally {
    await file.close();
  }
}

async function run(parts: ExportParts, pool: Pool, dataDir: string): Promise<void> {
  const path = join(dataDir, 'export');
  // The first of each reads what is not cached and compiles.
  for (const type of ['REWARD', 'USER'] as const)
    await exported(parts, { tenant: 'tenth', type, format: 'CSV' }, path);
  for (const type of ['REWARD', 'USER'] as const) {
    const best = { copy: Infinity, file: Infinity };
    for (let round = 0; round < ROUNDS; round++) {
      const copy = await plainCopy(pool, type, path);
      const tenth = await exported(parts, { tenant: 'tenth', type, format: 'CSV' }, path);
      const file = await exported(parts, { tenant: 'all', type, format: 'CSV' }, path);
      best.copy = Math.min(best.copy, copy.seconds);
      best.file = Math.min(best.file, file.seconds);
      console.log(
        `${type}: COPY ${copy.seconds.toFixed(2)} s, ${copy.megabytes.toFixed(0)} MB; file ${file.seconds.toFixed(2)} s, ${file.megabytes.toFixed(0)} MB; ` +
          `memory +${file.peakMb.toFixed(0)} MB (a tenth of the rows: +${tenth.peakMb.toFixed(0)} MB; aim ${AIM_MEMORY_MB})`,
      );
    }
    console.log(`${type}: ${(best.copy / best.file).toFixed(2)} of COPY (aim ${AIM})`);
    const sheet = await exported(parts, { tenant: 'xlsx', type, format: 'XLSX' }, path);
    console.log(
      `${type}: XLSX of ${XLSX_ROWS} rows ${sheet.seconds.toFixed(2)} s, ${sheet.megabytes.toFixed(0)} MB, memory +${sheet.peakMb.toFixed(0)} MB`,
    );
  }
}

await main();
