import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { NewEvent } from '../src/event-log/event-log.js';
import { PostgresEventLog } from '../src/event-log/postgres/postgres-event-log.js';
import { openPool } from '../src/postgres/database.js';
import { startEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.js';
import { migrateToLatest } from '../src/postgres/migrator.js';

/**
 * Appends per second through the port, against the cheapest thing that stores as much: one row per
 * transaction, inserted by a pool of 16 into a table with the same columns and as many indexes. The
 * same number of callers on both sides, each waiting for its answer before it continues; both sides
 * take turns, so that a slow spell of the disk hits both.
 *
 * `BENCH_DATABASE_URL`: a server to use (a scratch database is made in it and dropped), else an
 * embedded one with fsync. `BENCH_ROUNDS` (5) and `BENCH_SECONDS` (3) per side and round.
 */
const AIMS: ReadonlyMap<number, number> = new Map([
  [1, 0.78],
  [16, 1.6],
  [64, 2.3],
]);
const BASELINE_POOL = 16;
const APPENDS_PER_STREAM = 10;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const WARM_UP_SECONDS = 1;

const INSERT = `insert into plain_rows (stream, revision, event_id, type, data, metadata, recorded_at) values ($1, $2, $3, $4, $5, $6, $7)`;

type Append = (stream: string, revision: number, event: NewEvent) => Promise<void>;

/** Some 600 bytes of data and metadata, as a redemption has. */
function redemption(): NewEvent {
  const id = randomUUID();
  const data = {
    v: 1,
    rewardId: randomUUID(),
    person: randomUUID(),
    rewardType: 'CREDIT',
    unit: 'CENTS',
    redemptionId: randomUUID(),
    amount: 1250,
  };
  const metadata = {
    effectiveAt: 1_795_000_000_000,
    correlationId: randomUUID(),
    causationId: randomUUID(),
    commandId: randomUUID(),
    idempotencyKey: randomUUID(),
    fingerprint: 'b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184',
    actor: { kind: 'api-key', id: 'key-5f1c' },
    mode: 'live',
  };
  return {
    id,
    type: 'CreditRedeemed',
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
  };
}

/** Appends per second of so many callers, each in streams of its own. */
async function rate(append: Append, callers: number, seconds: number): Promise<number> {
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let done = 0;
  const call = async (): Promise<void> => {
    let stream = '';
    for (let n = 0; performance.now() < endsAt; n++) {
      const revision = n % APPENDS_PER_STREAM;
      if (revision === 0) stream = `account-demo-live-${randomUUID().replaceAll('-', '')}`;
      await append(stream, revision, redemption());
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return done / ((performance.now() - startedAt) / 1000);
}

async function measure(url: string): Promise<void> {
  await migrateToLatest(url);
  const pool = openPool({ url, max: BASELINE_POOL, applicationName: 'bench-baseline' });
  const log = await PostgresEventLog.open({ url });
  try {
    await pool.query(`
      create table plain_rows (
        id bigint generated always as identity primary key, stream text collate "C" not null, revision bigint not null, event_id uuid not null,
        type text not null, data text not null, metadata text not null, recorded_at bigint not null, unique (stream, revision)
      )`);
    const plain: Append = async (stream, revision, event) => {
      await pool.query({
        name: 'bench-plain',
        text: INSERT,
        values: [stream, revision, event.id, event.type, event.data, event.metadata, Date.now()],
      });
    };
    const port: Append = async (stream, revision, event) => {
      const result = await log.append(stream, revision === 0 ? 'no-stream' : BigInt(revision - 1), [
        event,
      ]);
      if (result.kind !== 'appended') throw new Error('a conflict where there can be none');
    };

    const { rows } = await pool.query<{ fsync: string; version: string }>(
      `select current_setting('fsync') as fsync, current_setting('server_version') as version`,
    );
    console.log(
      `Postgres ${rows[0]?.version ?? '?'}, fsync ${rows[0]?.fsync ?? '?'}; ${ROUNDS} rounds of ${SECONDS} s a side, medians`,
    );
    console.log('callers   insert/s   append/s    ratio  (of each round)             aim');
    for (const [callers, aim] of AIMS) {
      await rate(plain, callers, WARM_UP_SECONDS);
      await rate(port, callers, WARM_UP_SECONDS);
      const inserts: number[] = [];
      const appends: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        inserts.push(await rate(plain, callers, SECONDS));
        appends.push(await rate(port, callers, SECONDS));
      }
      const ratio = median(appends) / median(inserts);
      const each = appends
        .map((value, round) => (value / (inserts[round] ?? NaN)).toFixed(2))
        .join(' ');
      console.log(
        [
          String(callers).padStart(7),
          median(inserts).toFixed(0).padStart(10),
          median(appends).toFixed(0).padStart(10),
          ratio.toFixed(2).padStart(8),
          ` (${each})`.padEnd(28),
          `${aim.toFixed(2)} ${ratio >= aim ? 'met' : 'missed'}`,
        ].join(' '),
      );
    }
  } finally {
    await log.close();
    await pool.end();
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** In a database of its own on the server, dropped afterwards. */
async function inScratchDatabase(
  serverUrl: string,
  run: (url: string) => Promise<void>,
): Promise<void> {
  const name = `bench_append_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  try {
    await admin.query(`create database ${name}`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    await run(url.href);
  } finally {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
  }
}

async function main(): Promise<void> {
  const given = process.env.BENCH_DATABASE_URL;
  if (given) return inScratchDatabase(given, measure);
  const dataDir = await mkdtemp(join(tmpdir(), 'ledger-bench-'));
  try {
    const server = await startEmbeddedPostgres({ dataDir });
    try {
      await measure(server.url);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

await main();
