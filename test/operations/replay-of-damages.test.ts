// Over 5 s: a replay for each kind of damage.
import { randomUUID } from 'node:crypto';
import { accountProjectors } from '../../projections/account-projectors.js';
import { AccountCommandEnvelope } from '../../src/command-handling/commands.js';
import { type Core } from '../../src/stores/core.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { newId } from '../../src/foundation/world.js';
import type { Difference } from '../../src/operations/ledger/replay/comparison.js';
import { recordOperation } from '../../src/operations/audit.js';
import { ownerOf } from '../../src/operations/ledger/replay/live-rows.js';
import { liveCheckpoints } from '../../src/projecting/checkpoints.js';
import { quoted, schemaOf } from '../../src/projecting/identifiers.js';
import type { ReadModelTable, Row } from '../../src/projecting/projector.js';
import { creditRedeemed } from '../support/account-events.js';
import { path } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { everythingProjected } from '../support/everything-projected.js';
import { replayLedger } from '../support/operations.js';
import { createStores, RunningService, type TestStores } from '../support/running-service.js';
import { openCoreOn } from '../harness/open-core-on.js';

/**
 * Damages that a replay must name, in every column of every table by its definition, planted while
 * the service is stopped.
 */

const TENANT = 'acme';
const SCOPE = { tenant: TENANT, mode: 'live' } as const;
const ONE_BY_ONE = { accountsInMemory: 1 };

let stores: TestStores;
let core: Core;
let contradiction: { readonly id: string; readonly revision: string };

beforeAll(async () => {
  stores = await createStores();
  const service = await RunningService.start(stores);
  await tellStory(service);
  contradiction = await contradict(service.service.core);
  await everythingProjected(service.service.core);
  await service.stop();
  const { databaseUrl, masterKeyFile } = stores;
  core = await openCoreOn({ DATABASE_URL: databaseUrl, MASTER_KEY_FILE: masterKeyFile });
});
afterAll(async () => {
  await core.close();
  await stores.remove();
});

/** A redemption beyond its reward, which deciders never record. */
async function contradict({ log, codec, names }: Core): Promise<typeof contradiction> {
  const scope = { tenant: TENANT, mode: 'test' } as const;
  const stream = names.accountStream(scope, names.accountRef(scope, 'carl'));
  const recorded: RecordedEvent[] = [];
  for await (const event of log.readStream(stream)) recorded.push(event);
  const granted = (await codec.decodeAll(recorded)).find(
    ({ event }) => event.type === 'RewardGranted',
  );
  const end = recorded.at(-1);
  if (granted?.event.type !== 'RewardGranted' || !end) throw new Error('carl has no reward');
  const { envelope, event } = granted;
  const id = randomUUID();
  const redeemed = creditRedeemed(event, 'too-much', 1_000_000, event.at);
  await log.append(stream, end.revision, await codec.encode([redeemed], envelope, [id]));
  return { id, revision: String(end.revision + 1n) };
}

async function tellStory(service: RunningService): Promise<void> {
  const { live, test: testMode } = await service.createTenant({ alias: TENANT });
  await testMode.post('/accountsync', { id: 'carl', subscription: { status: 'TRIAL' } });
  await testMode.post('/user', { id: 'carl-1', accountId: 'carl' });
  await testMode.post(`/rewards/account${path('carl')}/user${path('carl-1')}`, {
    type: 'CREDIT',
    unit: 'Points',
    assignedCredit: 7,
  });
  await live.post('/accountsync', { id: 'ann', subscription: { status: 'TRIAL' } });
  await live.post('/user', { id: 'ann-1', accountId: 'ann', referralCode: 'ANNSCODE' });
  await live.post('/accountsync', {
    id: 'bob',
    subscription: { status: 'TRIAL' },
    referral: { code: 'ANNSCODE' },
  });
  await live.post('/user', { id: 'bob-1', accountId: 'bob' });
  await live.post('/accountsync', {
    id: 'bob',
    subscription: {
      status: 'PAID',
      value: 5,
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
    },
  });
  await eventually(async () => {
    const redeemed = await live.post('/credit/bulkredeem', {
      accountId: 'ann',
      unit: 'cents',
      amount: 300,
    });
    return redeemed.status < 300;
  });
  const { body: list } = await live.get<{ referrals: [{ id: string }] }>('/referrals');
  const approved = { referralId: list.referrals[0].id, action: 'REFERRER_APPROVED' };
  await live.post('/referrals/moderate', { actions: [approved] });
  await live.post(`/rewards/account${path('bob')}/user${path('bob-1')}`, {
    type: 'CREDIT',
    unit: 'Points',
    assignedCredit: 7,
  });
  const by = { name: 'sam', channel: 'cli' } as const;
  const operation = { operation: 'ledger digest', by, parameters: {}, result: null };
  await recordOperation(service.service.core, SCOPE, operation);
  const { body } = await live.post<{ id: string }>('/export', { type: 'USER' });
  await eventually(
    async () =>
      (await live.get<{ status: string }>(`/export${path(body.id)}`)).body.status === 'COMPLETED',
  );
}

interface TableOfModel {
  readonly readModel: string;
  readonly table: ReadModelTable;
}

const TABLES: readonly TableOfModel[] = accountProjectors.flatMap(({ name, tables }) =>
  tables.map((table) => ({ readModel: name, table })),
);

const isOfScope = (column: string): boolean => column === 'tenant' || column === 'mode';

/** A value of the column's type that no row has. */
function wrong(type: string, column: string): string {
  if (type.startsWith('bigint') || type.startsWith('integer'))
    return `coalesce(${quoted(column)}, 0) + 1`;
  if (type.startsWith('boolean')) return `not ${quoted(column)}`;
  return type.startsWith('jsonb') ? `'{"planted":1}'` : `'planted'`;
}

interface Damage {
  readonly readModel: string;
  /** `<table>/<key>` */
  readonly row: string;
  readonly columns: readonly string[];
  readonly repair: () => Promise<void>;
}

async function placeOf({ readModel, table }: TableOfModel): Promise<string> {
  const checkpoints = await liveCheckpoints(core.pool, accountProjectors);
  const generation = checkpoints.find(({ projection }) => projection === readModel)?.generation;
  return `${quoted(schemaOf(readModel, generation ?? 0))}.${quoted(table.name)}`;
}

/** The first row, and its place in the file of the table. */
async function someRow(place: string): Promise<{ readonly row: Row; readonly ctid: string }> {
  const { rows } = await core.pool.query<{ row: Row; ctid: string }>(
    `select to_json(t) as "row", ctid::text from ${place} t where tenant = $1 and mode = $2 limit 1`,
    [SCOPE.tenant, SCOPE.mode],
  );
  const [found] = rows;
  if (!found) throw new Error(`${place} is empty`);
  return found;
}

/** Sums are named within their tenant and mode. */
function nameOf(table: ReadModelTable, row: Row): string {
  const { name, primaryKey } = table;
  const key = ownerOf(table) ? primaryKey : primaryKey.filter((column) => !isOfScope(column));
  return [name, ...key.map((column) => row[column])].join('/');
}

async function insert(place: string, row: Row): Promise<void> {
  await core.pool.query(
    `insert into ${place} select * from json_populate_record(null::${place}, $1)`,
    [JSON.stringify(row)],
  );
}

/** Changes columns of one row; undefined: there is nothing to change. */
async function change(of: TableOfModel, columns: readonly string[]): Promise<Damage | undefined> {
  if (columns.length === 0) return undefined;
  const { readModel, table } = of;
  const place = await placeOf(of);
  const { row, ctid } = await someRow(place);
  const set = columns.map(
    (column) => `${quoted(column)} = ${wrong(table.columns[column] ?? '', column)}`,
  );
  const { rows } = await core.pool.query<{ ctid: string }>(
    `update ${place} set ${set.join(', ')} where ctid = $1 returning ctid::text`,
    [ctid],
  );
  const repair = async (): Promise<void> => {
    await core.pool.query(`delete from ${place} where ctid = $1`, [rows[0]?.ctid]);
    await insert(place, row);
  };
  return { readModel, row: nameOf(table, row), columns, repair };
}

async function remove(of: TableOfModel): Promise<Damage> {
  const place = await placeOf(of);
  const { row, ctid } = await someRow(place);
  await core.pool.query(`delete from ${place} where ctid = $1`, [ctid]);
  const repair = () => insert(place, row);
  return { readModel: of.readModel, row: nameOf(of.table, row), columns: [], repair };
}

/** Undefined: a tenant and mode have one row at most. */
async function add(of: TableOfModel): Promise<Damage | undefined> {
  const { readModel, table } = of;
  const column = table.primaryKey.findLast((part) => !isOfScope(part));
  if (column === undefined) return undefined;
  const place = await placeOf(of);
  const row = { ...(await someRow(place)).row, [column]: 'planted' };
  await insert(place, row);
  const repair = async (): Promise<void> => {
    await core.pool.query(`delete from ${place} where ${quoted(column)} = 'planted'`);
  };
  return { readModel, row: nameOf(table, row), columns: [], repair };
}

async function replayOf(
  plant: (of: TableOfModel) => Promise<Damage | undefined>,
  options: Parameters<typeof replayLedger>[3] = {},
): Promise<{ readonly damages: readonly Damage[]; readonly found: readonly Difference[] }> {
  const damages: Damage[] = [];
  try {
    for (const of of TABLES) {
      const damage = await plant(of);
      if (damage) damages.push(damage);
    }
    return { damages, found: (await replayLedger(core, SCOPE, {}, options)).differences };
  } finally {
    for (const { repair } of damages) await repair();
  }
}

const named = (differences: readonly Difference[]): string[] =>
  differences.map(({ readModel, field }) => `${readModel} ${field}`).sort();
const withColumns = (damages: readonly Damage[]): string[] =>
  damages
    .flatMap(({ readModel, row, columns }) =>
      columns.map((column) => `${readModel} ${row}.${column}`),
    )
    .sort();
const rowsOf = (damages: readonly Damage[]): string[] =>
  damages.map(({ readModel, row }) => `${readModel} ${row}`).sort();

const contents = ({ columns, primaryKey }: ReadModelTable): string[] =>
  Object.keys(columns).filter((column) => !primaryKey.includes(column));

test.each([
  ['several accounts at a time', {}],
  ['one account at a time', ONE_BY_ONE],
])('without a damage there is no difference, %s', async (_, options) => {
  const { events, differences } = await replayLedger(core, SCOPE, {}, options);
  expect({ differences, isRead: events > 10 }).toEqual({ differences: [], isRead: true });
});

test.each([
  ['several accounts at a time', {}],
  ['one account at a time', ONE_BY_ONE],
])('each changed column of each table is named, %s', async (_, options) => {
  const { damages, found } = await replayOf((of) => change(of, contents(of.table)), options);
  expect(named(found)).toEqual(withColumns(damages));
});

test('a row with another key, tenant or mode is named, for each column of each key', async () => {
  const keyed = ({ primaryKey }: ReadModelTable): string[] => [...primaryKey];
  const most = Math.max(...TABLES.map(({ table }) => keyed(table).length));
  for (let at = 0; at < most; at += 1) {
    const { damages, found } = await replayOf((of) =>
      change(of, keyed(of.table).slice(at, at + 1)),
    );
    expect(damages.length).toBeGreaterThan(0);
    const missing = found.filter(({ live }) => live === 'missing');
    expect(named(missing)).toEqual(rowsOf(damages));
  }
});

test('a deleted row of each table is named, with the events that wrote it', async () => {
  const { damages, found } = await replayOf(remove);
  expect(named(found)).toEqual(rowsOf(damages));
  for (const { ledger, live, account, eventIds } of found) {
    expect({ ledger, live }).toEqual({ ledger: 'present', live: 'missing' });
    expect(eventIds.length > 0).toBe(account !== 'all');
  }
});

test('an extra row in each table is named', async () => {
  const { damages, found } = await replayOf(add);
  expect(named(found)).toEqual(rowsOf(damages));
  for (const { ledger, live } of found)
    expect({ ledger, live }).toEqual({ ledger: 'missing', live: 'present' });
});

test('an event that no read model can apply is a difference of those that it stops', async () => {
  const { differences } = await replayLedger(core, { tenant: TENANT, mode: 'test' }, {});
  const difference = (readModel: string) => ({
    account: 'carl',
    readModel,
    field: `events/${contradiction.revision}`,
    ledger: 'present',
    live: 'missing',
    eventIds: [contradiction.id],
  });
  expect(differences).toEqual(['reward-balances', 'daily-figures'].map(difference));
});

test('people whose keys are destroyed before the read models follow are not compared', async () => {
  const meta = {
    scope: SCOPE,
    commandId: newId(),
    correlationId: newId(),
    causationId: newId(),
    actor: { kind: 'system', id: 'test' },
    idempotency: null,
  } as const;
  const account = core.names.accountRef(SCOPE, 'ann');
  await core.commands.execute(
    new AccountCommandEnvelope(meta, account, { type: 'ForgetAccount', doNotTrack: false }),
  );
  for (const request of [{}, { account: 'ann' }, { account: 'bob' }]) {
    const { differences } = await replayLedger(core, SCOPE, request);
    expect(differences).toEqual([]);
  }
  expect(await replayLedger(core, SCOPE, {})).toMatchObject({ notCompared: 1 });
});

test('a read model that has not begun yet is compared as empty, and the others as ever', async () => {
  const places = await Promise.all(
    TABLES.filter(({ readModel }) => readModel === 'referrals').map(placeOf),
  );
  expect(places.length).toBeGreaterThan(0);
  await core.pool.query(`truncate ${places.join(', ')}`);
  await core.pool.query(
    `update ledger.projection_checkpoints set position = null where projection = 'referrals'`,
  );
  expect((await replayLedger(core, SCOPE, {})).differences).toEqual([]);
});
