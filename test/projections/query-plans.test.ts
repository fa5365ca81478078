import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import { accountProjectors } from '../../projections/account-projectors.js';
import { AccountQueries } from '../../projections/accounts/queries.js';
import { DailyFigureQueries } from '../../projections/daily-figures/queries.js';
import { ExportQueries } from '../../projections/exports/queries.js';
import { ReferralCodeQueries } from '../../projections/referral-codes/queries.js';
import { ReferralQueries, type ReferralFilter } from '../../projections/referrals/queries.js';
import { RewardBalanceQueries } from '../../projections/reward-balances/queries.js';
import { PushQueries, RewardQueries } from '../../projections/rewards/queries.js';
import { ThemeQueries } from '../../projections/themes/queries.js';
import { UserQueries } from '../../projections/users/queries.js';
import type { AccountRef } from '../../src/domain/scope.js';
import {
  LiveReads,
  type ReadQuery,
  type RowQuery,
} from '../../src/projecting/following/live-reads.js';
import type { ReadModelTable } from '../../src/projecting/projector.js';
import { accountOpened, anAccount } from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';

/**
 * How Postgres finds what the queries of the read models ask for, in tables of 100 000 rows. The
 * rows are made by the server; what they say does not matter.
 */
const ROWS = 100_000;
/** After so many runs the server decides on a plan for any values. */
const RUNS = 6;

const scope = { tenant: 'tenant-1', mode: 'live' } as const;
const accountRef = 'account-7' as AccountRef;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string | undefined;
  readonly 'Index Name'?: string | undefined;
  readonly Plans?: readonly Plan[] | undefined;
}
const plan: z.ZodType<Plan> = z.lazy(() =>
  z.object({
    'Node Type': z.string(),
    'Relation Name': z.string().optional(),
    'Index Name': z.string().optional(),
    Plans: z.array(plan).optional(),
  }),
);
const explained = z.tuple([
  z
    .object({ 'QUERY PLAN': z.tuple([z.object({ Plan: plan })]) })
    .transform((row) => row['QUERY PLAN'][0].Plan),
]);

interface Sent {
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Tables of read models that a plan reads from their beginning to their end. */
function readAsAWhole(node: Plan): readonly string[] {
  const own = node['Node Type'] === 'Seq Scan' ? [node['Relation Name'] ?? ''] : [];
  return [...own, ...(node.Plans ?? []).flatMap(readAsAWhole)].filter((name) => TABLES.has(name));
}

/** The indexes that a plan reads; `alone`: those whose rows it does not look up in their tables. */
const indexesOf = (node: Plan, alone = false): readonly string[] => [
  ...(node['Index Name'] === undefined || (alone && node['Node Type'] !== 'Index Only Scan')
    ? []
    : [node['Index Name']]),
  ...(node.Plans ?? []).flatMap((child) => indexesOf(child, alone)),
];

const TABLES = new Map<string, ReadModelTable>(
  accountProjectors.flatMap(({ tables }) => tables.map((table) => [table.name, table] as const)),
);

/** The queries that were asked, and what their plans read as a whole. */
const asked = new Set<string>();
let whole: string[] = [];
let indexes: string[] = [];
let readAlone: string[] = [];

/** Notes the names of queries. */
class NotedReads<Tables> extends LiveReads<Tables> {
  override all<V extends Readonly<Record<string, unknown>>, T>(
    query: ReadQuery<Tables, V, T>,
  ): Promise<T[]> {
    asked.add(query.name);
    return super.all(query);
  }

  override row<V extends Readonly<Record<string, unknown>>, T>(
    query: RowQuery<Tables, V, T>,
  ): Promise<T | undefined> {
    asked.add(query.name);
    return super.row(query);
  }
}

/** Explains each statement: a prepared one as it runs once it is planned for good. */
function explaining(pool: pg.Pool): pg.Pool {
  const ask = pool.query.bind(pool) as (sent: Sent | string) => Promise<pg.QueryResult>;
  const explain = async (sent: Sent): Promise<pg.QueryResult> => {
    const result = await ask(sent);
    const { name, text, values } = sent;
    for (let run = 1; name !== undefined && run < RUNS; run++) await ask(sent);
    const { rows } =
      name === undefined
        ? await ask({ text: `explain (format json) ${text}`, values })
        : await ask(
            `explain (format json) execute ${pg.escapeIdentifier(name)} (${values.map(literal).join()})`,
          );
    const [planned] = explained.parse(rows);
    whole.push(...readAsAWhole(planned));
    indexes.push(...indexesOf(planned));
    readAlone.push(...indexesOf(planned, true));
    return result;
  };
  pool.query = explain as unknown as pg.Pool['query'];
  return pool;
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (!Array.isArray(value))
    return pg.escapeLiteral(typeof value === 'string' ? value : JSON.stringify(value));
  return pg.escapeLiteral(`{${value.map((one) => JSON.stringify(one)).join()}}`);
}

/** What a column has in the n-th row. */
function valueOf(column: string, type: string, { name, primaryKey }: ReadModelTable): string {
  if (AMOUNTS.has(column) && type.startsWith('text')) return 'n::text';
  // A row for each tenant.
  if (primaryKey.join() === 'tenant,mode' && column === 'tenant') return `'tenant-' || n`;
  if (column === 'tenant')
    return READ_BY_TENANT.has(name) ? `'tenant-' || n % 20` : `'tenant-' || n % 2`;
  const given = VALUES.get(column);
  if (given !== undefined) return given;
  const isKey = primaryKey.length === 1 && primaryKey[0] === column;
  if (column.endsWith('account_ref')) return `'account-' || n ${isKey ? '' : '/ 5'}`;
  if (type.startsWith('text')) return `'${column}-' || n`;
  if (type.startsWith('jsonb')) return `'{}'`;
  if (type.startsWith('boolean')) return 'n % 2 = 0';
  return type.startsWith('integer') ? '1' : 'n';
}

/** One row of a hundred waits for something. */
const seldom = (value: string, otherwise: string): string =>
  `case when n % 100 = 0 then ${value} else ${otherwise} end`;

const VALUES = new Map([
  ['mode', `'live'`],
  ['referred_status', seldom(`'PENDING'`, `'APPROVED'`)],
  ['referrer_status', seldom(`'PENDING'`, `'APPROVED'`)],
  ['status', seldom(`'PENDING'`, `'EXPIRED'`)],
  ['push_state', seldom(`'PARKED'`, 'null')],
  ['due_at', seldom('n', 'null')],
  ['date_paid', seldom('n', 'null')],
  ['date_ended', seldom('n', 'null')],
  ['counted_by', `'referrer-user'`],
  ['unit_key', `'unit-' || n % 7`],
  ['day', `'day-' || n`],
  ['search', `md5(n::text)`],
]);

/** Of these a query may read all rows of a tenant: it has few of them, others half. */
const READ_BY_TENANT = new Set(['daily_counts', 'daily_credit', 'exports', 'themes']);

/** Of a day, as decimal texts. */
const AMOUNTS = new Set(['issued', 'redeemed', 'expired', 'cancelled', 'restored']);

/** The indexes are made after the rows, and nothing is logged: a third of the time. */
async function fill(
  pool: pg.Pool,
  schema: string,
  table: ReadModelTable,
  { rows: count = ROWS, isAnalyzed = true } = {},
): Promise<void> {
  const columns = Object.entries(table.columns);
  const { rows: indexes } = await pool.query<{ indexname: string; indexdef: string }>(
    `select i.indexname, i.indexdef from pg_indexes i where i.schemaname = $1 and i.tablename = $2
       and not exists (select from pg_constraint c where c.conname = i.indexname)`,
    [schema, table.name],
  );
  const isIn = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table.name)}`;
  await pool.query(
    [
      `alter table ${isIn} set unlogged`,
      ...indexes.map(
        ({ indexname }) =>
          `drop index ${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(indexname)}`,
      ),
      `insert into ${isIn} (${columns.map(([name]) => pg.escapeIdentifier(name)).join()})
       select ${columns.map(([name, type]) => valueOf(name, type, table)).join()}
       from generate_series(1, ${count}) n on conflict do nothing`,
      ...indexes.map(({ indexdef }) => indexdef),
      ...(isAnalyzed ? [`analyze ${isIn}`] : []),
    ].join(';'),
  );
}

const page = { limit: 100, offset: 0 };
const farPage = { limit: 100, offset: 2_000 };

type Reads = <Tables>(projection: string) => LiveReads<Tables>;

type Ask = (reads: Reads) => Promise<unknown>;

const referrals =
  (filter: ReferralFilter, at = page): Ask =>
  (reads) =>
    new ReferralQueries(reads('referrals')).list(scope, filter, at);

const QUERIES: readonly (readonly [title: string, ask: Ask])[] = [
  ['an account', (of) => new AccountQueries(of('accounts')).byRef(scope, accountRef)],
  ['a user', (of) => new UserQueries(of('users')).byUserId(scope, accountRef, 'user_id-7')],
  [
    'users by people',
    (of) => new UserQueries(of('users')).byPersons(scope, ['person-7', 'person-27']),
  ],
  ['users', (of) => new UserQueries(of('users')).list(scope, page)],
  ['a later page of users', (of) => new UserQueries(of('users')).list(scope, farPage)],
  [
    'a search for users',
    (of) => new UserQueries(of('users')).list(scope, { ...page, query: 'c4ca42' }),
  ],
  ['a code', (of) => new ReferralCodeQueries(of('referral-codes')).byCode(scope, 'code_key-7')],
  ['a referral', (of) => new ReferralQueries(of('referrals')).byId(scope, 'referral_id-7')],
  [
    'referrals of a person',
    async (of) => {
      const queries = new ReferralQueries(of('referrals'));
      const made = { accountRef, person: 'person-7' };
      await queries.pageMadeBy(scope, made, undefined, 100);
      await queries.pageMadeBy(scope, made, { dateStarted: 37, referralId: 'referral_id-37' }, 100);
    },
  ],
  ['referrals', referrals({})],
  ['a later page of referrals', referrals({}, farPage)],
  ['referrals by referrer', referrals({ referrerAccountRef: accountRef })],
  ["referrals by the referrer's id", referrals({ referrerUserId: 'referrer_user_id-7' })],
  ['referrals by referred account', referrals({ referredAccountRef: accountRef })],
  ["referrals by the referred user's id", referrals({ referredUserId: 'referred_user_id-7' })],
  ['referrals by a status', referrals({ referredStatus: 'PENDING' })],
  ["referrals by the referrer's status", referrals({ referrerStatus: 'PENDING' })],
  ['approved referrals', referrals({ referredStatus: 'APPROVED', referrerStatus: 'APPROVED' })],
  ['referrals by their start', referrals({ started: { from: 1_000, to: 2_000 } })],
  ['referrals by a payment', referrals({ paid: { from: 1_000, to: 2_000 } })],
  ['referrals by their end', referrals({ ended: { from: 1_000, to: 2_000 } })],
  ['a reward', (of) => new RewardQueries(of('rewards')).byId(scope, 'reward_id-7')],
  ['rewards by ids', (of) => new RewardQueries(of('rewards')).byIds(scope, ['reward_id-7'])],
  [
    'rewards of a person',
    async (of) => {
      const queries = new RewardQueries(of('rewards'));
      const owner = { accountRef, person: 'person-7' };
      await queries.pageOf(scope, owner, undefined, 100);
      await queries.pageOf(scope, owner, { dateGiven: 37, rewardId: 'reward_id-37' }, 100);
    },
  ],
  ['rewards of an account', (of) => new RewardQueries(of('rewards')).list(scope, { accountRef })],
  ['accounts to pay', (of) => new PushQueries(of('rewards')).accountsToPay(scope, accountRef, 100)],
  [
    'the number of parked payments',
    (of) => new PushQueries(of('rewards')).countParked(['tenant-0'], 1_000),
  ],
  [
    'parked payments',
    (of) => new PushQueries(of('rewards')).parked({ ...scope, tenant: 'tenant-0' }, 100),
  ],
  [
    'a balance',
    (of) => new RewardBalanceQueries(of('reward-balances')).list(scope, { accountRef, now: 1_000 }),
  ],
  ['the figures of days', (of) => new DailyFigureQueries(of('daily-figures')).upTo(scope, 1_000)],
  [
    'the figures between two days',
    (of) =>
      new DailyFigureQueries(of('daily-figures')).between(scope, {
        from: '2026-01-05',
        to: '2026-01-31',
        unitKey: undefined,
        clock: 1_000,
        rowsMax: 10_000,
      }),
  ],
  ['exports', (of) => new ExportQueries(of('exports')).list(scope, page)],
  [
    'exports that are not over',
    async (of) => {
      await new ExportQueries(of('exports')).notOver('PENDING', '', 100);
      await new ExportQueries(of('exports')).notOver('COMPLETED', '', 100);
    },
  ],
  ['themes', (of) => new ThemeQueries(of('themes')).ownValues(scope, [null, 'de'])],
  ['versions of themes', (of) => new ThemeQueries(of('themes')).versions(scope)],
];

/** Of one connection, as prepared statements are. */
function readsOf(projected: ProjectedLedger): Reads {
  const pool = explaining(projected.openPool(1));
  return (projection) => new NotedReads(pool, projected.generations, projection);
}

async function filledLedger(how?: Parameters<typeof fill>[3]): Promise<ProjectedLedger> {
  const ledger = await ProjectedLedger.open();
  const runner = ledger.startRunner();
  const account = anAccount('acme');
  await ledger.given(account, accountOpened(account));
  await runner.stop();
  const filling = accountProjectors.map(async ({ name, tables }) => {
    const { schema } = await ledger.generations.liveGeneration(name);
    for (const table of tables) await fill(ledger.pool, schema, table, how);
  });
  await Promise.all(filling);
  return ledger;
}

let projected: ProjectedLedger;
let reads: Reads;

beforeAll(async () => {
  projected = await filledLedger();
  reads = readsOf(projected);
}, 120_000);
afterAll(() => projected.close());
beforeEach(() => {
  whole = [];
  indexes = [];
  readAlone = [];
});

it.each(QUERIES)('%s: found by indexes', async (_title, ask) => {
  await ask(reads);
  expect(whole).toEqual([]);
});

it('the plan of a query that no index serves is seen', async () => {
  const pool = explaining(projected.openPool(1));
  const { schema } = await projected.generations.liveGeneration('users');
  await pool.query({ text: `select from ${schema}.users where email = $1`, values: ['a'] });
  expect(whole).toEqual(['users']);
});

it('every query of the read models is among them', async () => {
  for (const [, ask] of QUERIES) await ask(reads);
  const folder = join(__dirname, '../../projections');
  const named = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => readFileSync(join(folder, name, 'queries.ts'), 'utf8').split('\n'))
    .filter((line) => /^\s+name: .*['`],$/.test(line))
    .flatMap((line) => [...line.matchAll(/['`]([^'`]+)['`]/g)].map(([, name]) => name));
  const expected = named.flatMap((name) =>
    name === 'exports_${status}' ? ['exports_PENDING', 'exports_COMPLETED'] : [name],
  );
  expect([...asked].sort()).toEqual(expected.sort());
});
