import { createHash, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { accountProjectors } from '../projections/account-projectors.js';
import { rewardBalancesProjector } from '../projections/reward-balances/projector.js';
import { loadConfig } from '../src/config.js';
import { openCore, type Core } from '../src/core.js';
import type { AccountEvent } from '../src/domain/account/account.events.js';
import { openPool } from '../src/postgres/database.js';
import { withGenerationsLock } from '../src/postgres/generations-lock.js';
import { Follower, type GenerationParts } from '../src/projecting/catch-up.js';
import { decodeForProjectors } from '../src/projecting/decode-events.js';
import { generationRecords } from '../src/projecting/generation-records.js';
import { createGeneration, ensureLiveGenerations } from '../src/projecting/generations.js';
import { schemaOf } from '../src/projecting/identifiers.js';
import { decodePage } from '../src/projecting/page.js';
import { rebuild } from '../src/projecting/rebuild.js';
import { makeDataDir, removeDataDir } from './service-process.js';

/**
 * How long a rebuild of the balances takes, against what Postgres alone needs to aggregate the same events to the same figures, in the same
 * run; and how fast they are followed live, against a transaction an event. All ways must come to the same digest.
 *
 * `BENCH_EVENTS` (500 000), `BENCH_SINGLE_EVENTS` (1 000) for the one by one. The SQL figures lack names and dates, which only keys open.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 500_000);
const SINGLE = Number(process.env.BENCH_SINGLE_EVENTS ?? 1_000);
const PER_ACCOUNT = 50;
const AIMS = { rebuild: 0.5, live: 30 };
const scope = { tenant: 'bench', mode: 'live' } as const;
const NAME = rewardBalancesProjector.name;

async function writeEvents(core: Core): Promise<void> {
  const accounts = Math.ceil(EVENTS / PER_ACCOUNT);
  for (let first = 0; first < accounts; first += 16)
    await Promise.all(Array.from({ length: Math.min(16, accounts - first) }, (_, index) => writeAccount(core, first + index)));
}

/** Half of its events grant a reward, the others redeem a part of one. */
async function writeAccount({ names, codec, log }: Core, number: number): Promise<void> {
  const accountId = `account-${number}`;
  const stream = names.accountStream(scope, names.accountRef(scope, accountId));
  const person = randomUUID();
  const events: AccountEvent[] = [];
  for (let index = 0; index < PER_ACCOUNT; index += 2) {
    const rewardId = createHash('sha256').update(`${number}.${index}`).digest('hex').slice(0, 48);
    const unit = index % 3 === 0 ? 'CENTS' : 'PTS';
    const terms = {
      cancellable: true,
      dateScheduledFor: null,
      dateExpires: null,
      referralId: null,
      programId: null,
    };
    const value = { type: 'CREDIT', unit, assignedCredit: 100 + index, currency: null } as const;
    const owner = { subject: person, value: { accountId, userId: 'u' } };
    const texts = { subject: person, value: null };
    const rest = { ...terms, texts, programVersion: null, rule: null, redeemsAutomatically: false };
    events.push({ type: 'RewardGranted', at: index, rewardId, person, owner, source: 'MANUAL', value, ...rest });
    events.push({
      type: 'CreditRedeemed',
      at: index,
      rewardId,
      person,
      rewardType: 'CREDIT',
      unit,
      redemptionId: randomUUID(),
      amount: index,
    });
  }
  const id = randomUUID();
  const envelope = {
    ...scope,
    correlationId: id,
    causationId: id,
    commandId: id,
    actor: { kind: 'system', id: 'bench' },
    idempotency: null,
  } as const;
  const ids = events.map(() => randomUUID());
  const appended = await log.append(stream, 'no-stream', await codec.encode(events, envelope, ids));
  if (appended.kind === 'conflict') throw new Error('somebody else writes to the benchmark');
}

const AGGREGATE = `
  create table bench_balances as
  with facts as materialized (
    select substring(stream from '[^.]+$') as account_ref, type, data::jsonb as data from ledger.events
    where type in ('RewardGranted', 'CreditRedeemed')),
  granted as (
    select account_ref, data->>'rewardId' as reward_id, data->>'person' as person, data->'value'->>'type' as type,
      lower(data->'value'->>'unit') as unit_key, (data->'value'->>'assignedCredit')::bigint as assigned
    from facts where type = 'RewardGranted'),
  redeemed as (select data->>'rewardId' as reward_id, sum((data->>'amount')::bigint) as amount from facts where type = 'CreditRedeemed' group by 1)
  select account_ref, person, type, unit_key, count(*)::bigint as count, sum(coalesce(amount, 0))::bigint as redeemed_credit,
    sum(assigned - coalesce(amount, 0))::bigint as available_credit
  from granted left join redeemed using (reward_id) group by 1, 2, 3, 4`;

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const actor = { kind: 'system' as const, id: 'bench' };
    const logger = pino({ level: 'warn' });
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger,
      actor,
      applicationName: 'bench-rebuild',
      fsync: false,
    });
    const pool = openPool({ url: core.databaseUrl, max: 8, applicationName: 'bench-rebuild' });
    try {
      await run(core, { pool, log: core.log, decode: decodeForProjectors(core.codec), projectors: accountProjectors });
    } finally {
      await pool.end();
      await core.close();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

async function run(core: Core, parts: GenerationParts): Promise<void> {
  const { pool } = parts;
  console.log(`writing ${EVENTS} events`);
  await writeEvents(core);
  await pool.query('vacuum analyze ledger.events');
  await ensureLiveGenerations(pool, accountProjectors);
  const seconds = async (work: () => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now();
    await work();
    return (performance.now() - startedAt) / 1_000;
  };
  const single = SINGLE / (await seconds(() => oneByOne(parts)));
  const live = EVENTS / (await seconds(() => followLive(parts)));
  const sql = EVENTS / (await seconds(() => pool.query(AGGREGATE)));
  let built = 0;
  const signal = new AbortController().signal;
  const rebuilt =
    EVENTS /
    (await seconds(async () => {
      const [generation] = await withGenerationsLock(pool, (client) => rebuild(parts, client, [rewardBalancesProjector], { signal }));
      built = generation?.generation ?? 0;
    }));
  const place = (generation: number): string => `${schemaOf(NAME, generation)}.reward_balances`;
  const digests = await Promise.all(['bench_balances', place(1), place(built)].map((table) => digestOf(parts, table)));
  const line = (name: string, rate: number, note = ''): void =>
    console.log(`${name.padEnd(36)} ${Math.round(rate).toString().padStart(8)} events/s ${note}`);
  const verdict = (ratio: number, aim: number): string => `${ratio.toFixed(2)} ${ratio >= aim ? 'met' : 'missed'} (${aim})`;
  line('one transaction an event', single);
  line('live, in batches', live, verdict(live / single, AIMS.live));
  line('SQL aggregation', sql);
  line('rebuild, indexed and compared', rebuilt, verdict(rebuilt / sql, AIMS.rebuild));
  console.log(`digests ${new Set(digests).size === 1 ? 'equal' : 'DIFFER'}: ${digests.join(' ')}`);
  if (new Set(digests).size !== 1) process.exitCode = 1;
}

async function oneByOne(parts: GenerationParts): Promise<void> {
  const { pool, log, decode } = parts;
  const client = await pool.connect();
  await createGeneration(client, rewardBalancesProjector, 90, 'building');
  client.release();
  const record = (await generationRecords(pool, [NAME])).find(({ generation }) => generation === 90);
  if (!record) throw new Error('no generation');
  const { track } = await Follower.open(parts, rewardBalancesProjector, record);
  for (const event of await log.readAll(undefined, SINGLE)) {
    const page = await decodePage([event], decode);
    if (page) await track.apply(page);
  }
}

/** As the service follows: pages of 500. */
async function followLive(parts: GenerationParts): Promise<void> {
  const { pool, log, decode } = parts;
  const record = (await generationRecords(pool, [NAME])).find(({ state }) => state === 'live');
  if (!record) throw new Error('no live generation');
  const { track } = await Follower.open(parts, rewardBalancesProjector, record);
  for (let page = await log.readAll(undefined, 500); page.length > 0; page = await log.readAll(track.position, 500)) {
    const decoded = await decodePage(page, decode);
    if (decoded) await track.apply(decoded);
  }
}

async function digestOf({ pool }: GenerationParts, table: string): Promise<string> {
  const { rows } = await pool.query<{ digest: string }>(
    `select md5(string_agg(concat_ws(' ', account_ref, person, type, unit_key, count, redeemed_credit, available_credit), ',' order by account_ref, person, type, unit_key)) as digest
     from ${table}`,
  );
  return rows[0]?.digest ?? '';
}

await main();
