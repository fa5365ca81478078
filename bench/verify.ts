import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { ChainNames } from '../src/chain/chain-names.js';
import { ChainSealing } from '../src/chain/chain-sealing.js';
import { sealsIn } from '../src/chain/chain-seals.js';
import { ChainSigner } from '../src/chain/chain-signer.js';
import type { Scope } from '../src/domain/scope.js';
import { PostgresEventLog } from '../src/event-log/postgres/postgres-event-log.js';
import { verifyLedger } from '../src/operations/ledger/ledger-verification.js';
import { LogReader } from '../src/operations/log/log-reader.js';
import { openPool } from '../src/postgres/database.js';
import { startEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.js';
import { migrateToLatest } from '../src/postgres/migrator.js';
import { KeyedNames } from '../src/privacy/keyed-names.js';

/**
 * Events a second that `ledger verify` recomputes, against a bare read of the same pages through
 * the same port with nothing done to them. All events are of the tenant that is verified: its chain
 * costs the most. Both take turns, so that a slow spell hits both.
 *
 * `BENCH_EVENTS` (300 000) and `BENCH_ROUNDS` (3).
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 300_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const AIM = 100_000;
const SCOPE: Scope = { tenant: 'demo', mode: 'live' };
const PATIENCE = { signal: new AbortController().signal, awayMsMax: 10_000 };

/**
 * Like appends: 50 events a stream, some 600 bytes of data and metadata each, as a redemption has.
 */
async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `insert into ledger.events (position, stream, revision, event_id, type, data, metadata, recorded_at, append_offset)
     select n, 'referral-account-live.demo.' || md5(((n - 1) / 50)::text), (n - 1) % 50, gen_random_uuid(), 'CreditRedeemed',
            json_build_object('v', 1, 'rewardId', gen_random_uuid(), 'person', gen_random_uuid(), 'rewardType', 'CREDIT', 'unit', 'CENTS',
                              'redemptionId', gen_random_uuid(), 'amount', n),
            json_build_object('v', 1, 'at', 1795000000000, 'tenant', 'demo', 'mode', 'live', '$correlationId', gen_random_uuid(),
                              '$causationId', gen_random_uuid(), 'command', gen_random_uuid(), 'key', gen_random_uuid(),
                              'fingerprint', repeat(md5(n::text), 2), 'actor', json_build_object('kind', 'api-key', 'id', 'key-5f1c')),
            1795000000000 + n, 0
       from generate_series(1, $1::bigint) as n`,
    [EVENTS],
  );
  await pool.query(
    'insert into ledger.streams (stream, revision) select stream, max(revision) from ledger.events group by stream',
  );
  await pool.query('update ledger.log_head set position = $1', [EVENTS]);
  await pool.query('vacuum analyze ledger.events');
}

interface Rate {
  readonly perSecond: number;
  /**
   * Of this process, in microseconds an event, which does not depend on other load of the machine.
   */
  readonly cpu: number;
}

async function rate(work: () => Promise<number>): Promise<Rate> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  const events = await work();
  if (events !== EVENTS) throw new Error(`${events} events instead of ${EVENTS}`);
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: (events * 1_000) / (performance.now() - startedAt),
    cpu: (user + system) / events,
  };
}

async function bareRead(log: PostgresEventLog): Promise<number> {
  const reader = new LogReader(log, PATIENCE, (await log.head()) ?? null);
  for (let page = await reader.ahead(); page.length > 0; page = await reader.ahead())
    reader.take(page.length);
  return reader.count;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const shown = ({ perSecond, cpu }: Rate): string =>
  `${Math.round(perSecond).toLocaleString('en')} events/s (${cpu.toFixed(1)} µs of CPU each)`;

const dataDir = await mkdtemp(join(tmpdir(), 'ledger-bench-'));
const server = await startEmbeddedPostgres({ dataDir });
try {
  await migrateToLatest(server.url);
  const pool = openPool({ url: server.url, max: 4, applicationName: 'bench' });
  const log = await PostgresEventLog.open({ url: server.url, readTimeoutMs: 60_000 });
  const names = new KeyedNames(Buffer.alloc(32, 1));
  const chainSigner = new ChainSigner(Buffer.alloc(32, 2));
  const sealing = new ChainSealing({
    seals: sealsIn(pool),
    log,
    chains: new ChainNames(names),
    signer: chainSigner,
  });
  // The seals begin with the log: events without any are a log whose seals were removed.
  await sealing.sealToHead();
  await fill(pool);
  const verify = async (): Promise<number> => {
    const verified = await verifyLedger(
      { pool, log, names, chainSigner },
      { scope: SCOPE, ...PATIENCE },
    );
    return verified.ok ? verified.events : 0;
  };
  say(`sealing: ${shown(await rate(async () => (await sealing.sealToHead()).events))}`);
  await bareRead(log);
  const [reads, verifications]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round++) {
    const [read, verified] = [await rate(() => bareRead(log)), await rate(verify)];
    reads.push(read.perSecond);
    verifications.push(verified.perSecond);
    say(`round ${round}: bare read ${shown(read)}, verify ${shown(verified)}`);
  }
  const verified = median(verifications);
  const ratio = (verified / median(reads)).toFixed(2);
  say(
    `verify: ${Math.round(verified).toLocaleString('en')} events/s (aim: ${AIM.toLocaleString('en')}), ${ratio} of a bare read`,
  );
  await log.close();
  await pool.end();
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
