import type { Pool } from 'pg';
import { rewardBalancesProjector as projector } from '../projections/reward-balances/projector.js';
import { withGenerationsLock } from '../src/postgres/generations-lock.js';
import { Follower, type GenerationParts } from '../src/projecting/generations/catch-up.js';
import { generationRecords } from '../src/projecting/generations/generation-records.js';
import {
  completeTables,
  createGeneration,
  indexStatements,
  primaryKeyOf,
} from '../src/projecting/generations/generations.js';
import { schemaOf } from '../src/projecting/identifiers.js';
import { decodePage } from '../src/projecting/page.js';
import { rebuild } from '../src/projecting/generations/rebuild.js';

/**
 * The ways to build the balances from the events. Each returns the table that it filled; `digestOf`
 * shows whether they agree.
 */

/** In a generation of its own, a transaction an event, for so many of the first events. */
export async function buildOneByOne(parts: GenerationParts, events: number): Promise<string> {
  const client = await parts.pool.connect();
  await createGeneration(client, projector, 90, 'building');
  await completeTables(client, projector, 90);
  client.release();
  const { track } = await followerOf(parts, 90);
  for (const event of await parts.log.readAll(undefined, events)) {
    const page = await decodePage([event], parts.decode);
    if (page) await track.apply(page);
  }
  return placeOf(90);
}

/** The live generation, as the service follows: in pages of 500. */
export async function followLive(parts: GenerationParts): Promise<string> {
  const { log, decode } = parts;
  const { track } = await followerOf(parts, 1);
  for (
    let page = await log.readAll(undefined, 500);
    page.length > 0;
    page = await log.readAll(track.position, 500)
  ) {
    const decoded = await decodePage(page, decode);
    if (decoded) await track.apply(decoded);
  }
  return placeOf(1);
}

/**
 * The operators' rebuild: all rows from all events, written, indexed, and compared with the live
 * ones.
 */
export async function rebuildBalances(parts: GenerationParts): Promise<string> {
  const { signal } = new AbortController();
  const [built] = await withGenerationsLock(parts.pool, (client) =>
    rebuild(parts, client, [projector], { signal }),
  );
  if (built?.differences !== 0)
    throw new Error(`the rebuild differs from the live balances in ${built?.differences} rows`);
  return placeOf(built.generation);
}

/** The sums alone: no single rewards, no tenants, no index. The least that SQL can do. */
export async function sumInSql(pool: Pool): Promise<string> {
  await pool.query('drop table if exists bench_sums');
  await pool.query(`
    create table bench_sums as
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
    from granted left join redeemed using (reward_id) group by 1, 2, 3, 4`);
  return 'bench_sums';
}

/**
 * The same tables with the same rows, keys and indexes as after a rebuild, from the same JSON
 * (envelopes included). The user's name, which only a key decrypts, is a constant, and only cases
 * that this log contains are distinguished: no dates, cancellations, percentages.
 */
export async function buildInSql(pool: Pool): Promise<string> {
  await pool.query('drop schema if exists bench_sql cascade; create schema bench_sql');
  await pool.query(ITEMS_IN_SQL);
  await pool.query(BALANCES_IN_SQL);
  await pool.query('alter table bench_sql.balance_items drop column unit, drop column revision');
  for (const table of projector.tables) {
    const place = `bench_sql.${table.name}`;
    await pool.query(`alter table ${place} add ${primaryKeyOf(table)}`);
    for (const statement of indexStatements('bench_sql', table)) await pool.query(statement);
    await pool.query(`analyze ${place}`);
  }
  return 'bench_sql.reward_balances';
}

const ITEMS_IN_SQL = `
  create table bench_sql.balance_items with (fillfactor = 85) as
  with facts as materialized (
    select substring(stream from '[^.]+$') as account_ref, revision, type, data::jsonb as data, metadata::jsonb as metadata
    from ledger.events where type in ('RewardGranted', 'CreditRedeemed')),
  granted as (
    select data->>'rewardId' as reward_id, metadata->>'tenant' as tenant, metadata->>'mode' as mode, account_ref, data->>'person' as person,
      data->'value'->>'type' as type, data->'value'->>'unit' as unit, data->>'source' as source, revision,
      (data->'value'->>'assignedCredit')::bigint as assigned, (metadata->>'at')::bigint as date_given,
      (data->>'dateScheduledFor')::bigint as date_scheduled_for, (data->>'dateExpires')::bigint as date_expires,
      (data->>'redeemsAutomatically')::boolean as redeems_automatically
    from facts where type = 'RewardGranted'),
  redeemed as (select data->>'rewardId' as reward_id, sum((data->>'amount')::bigint) as amount from facts where type = 'CreditRedeemed' group by 1)
  select reward_id, tenant, mode, account_ref, person, 'u'::text as user_id, type, lower(unit) as unit_key, source,
    'available'::text as bucket, 'AVAILABLE'::text as phase, false as cancelled, assigned, coalesce(amount, 0)::bigint as redeemed,
    0::bigint as percent, date_given, date_scheduled_for, date_expires, redeems_automatically, null::bigint as due_at, unit, revision
  from granted left join redeemed using (reward_id)`;

const BALANCES_IN_SQL = `
  create table bench_sql.reward_balances with (fillfactor = 85) as
  select account_ref, person, type, unit_key, min(tenant) as tenant, min(mode) as mode, min(user_id) as user_id,
    ''::text as account_id, min(unit) as unit, min(revision) as first_revision, min(date_given) as date_created,
    count(*) filter (where assigned > 0)::bigint as count, sum(redeemed)::bigint as redeemed_credit,
    sum(assigned - redeemed)::bigint as available_credit, 0::bigint as pending_credit, 0::bigint as expired_credit,
    0::bigint as cancelled_credit, 0::bigint as discount_percent, 0::bigint as referred_percent, 0::bigint as referrer_percent,
    0::bigint as fuel_tank_codes
  from bench_sql.balance_items group by account_ref, person, type, unit_key`;

/** Of the figures that all ways have: what each person has redeemed and left, by type and unit. */
export async function digestOf(pool: Pool, table: string): Promise<string> {
  const { rows } = await pool.query<{ digest: string | null }>(
    `select md5(string_agg(concat_ws(' ', account_ref, person, type, unit_key, count, redeemed_credit, available_credit), ',' order by account_ref, person, type, unit_key)) as digest
     from ${table}`,
  );
  const digest = rows[0]?.digest ?? null;
  if (digest === null) throw new Error(`${table} is empty`);
  return digest;
}

const placeOf = (generation: number): string =>
  `${schemaOf(projector.name, generation)}.reward_balances`;

async function followerOf(parts: GenerationParts, generation: number): Promise<Follower> {
  const record = (await generationRecords(parts.pool, [projector.name])).find(
    (candidate) => candidate.generation === generation,
  );
  if (!record) throw new Error(`there is no generation ${generation} of the balances`);
  return Follower.open(parts, projector, record);
}
