import { DailySyncs, type DailySyncsParts } from '../../src/payments/incoming/daily-syncs.js';
import { recordConnection, providerRows } from '../../src/payments/incoming/payment-rows.js';
import {
  ProviderFailure,
  type FactsPage,
  type ProviderCalls,
} from '../../src/payments/payment-provider.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { workStore } from '../../src/work-queue/work-items.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { connectionOf, tenantsBut } from './support/parts.js';

interface Asked {
  readonly process: string;
  readonly tenant: string;
  readonly cursor: string | null;
}

type Answer = (cursor: string | null) => Promise<FactsPage>;

let asked: Asked[];
let answers: Map<string, Answer>;
let ends: string[];
let walkedFrom: number[];
const hanging: (() => void)[] = [];
const running: { readonly syncs: DailySyncs; readonly presence: ProcessPresence }[] = [];

const { pool } = useDatabase(8);
beforeEach(async () => {
  asked = [];
  answers = new Map();
  ends = [];
  walkedFrom = [];
  await pool.query('truncate ledger.payment_tenants, ledger.work_items');
});
afterEach(async () => {
  for (const end of hanging.splice(0)) end();
  for (const { syncs, presence } of running.splice(0)) {
    await syncs.worker.stop();
    await presence.stop();
  }
});

/** A walk asks for nothing else, and pays nothing. */
const NO_OTHER_CALLS = {} as Omit<ProviderCalls, 'factsPage'>;
const END: FactsPage = { facts: [], next: null };
/** Until the end of the test. */
const hang = (): Promise<FactsPage> => new Promise((resolve) => hanging.push(() => resolve(END)));

async function due(...tenants: readonly string[]): Promise<void> {
  for (const tenant of tenants) await recordConnection(pool, { tenant, mode: 'live' });
  await pool.query(
    `update ledger.work_items set due_at = now() - interval '1 minute',
       waiting_since = now() - interval '1 minute' where tenant = any ($1)`,
    [tenants],
  );
}

async function start(name: string): Promise<ProcessPresence> {
  const presence = new ProcessPresence(pool);
  await presence.start();
  const parts: Partial<DailySyncsParts> = {
    work: workStore(pool),
    rows: providerRows(pool),
    presence,
    tenants: tenantsBut(() => new Set()),
    connections: { current: ({ alias }) => Promise.resolve(connectionOf(alias)) },
    provider: () =>
      Promise.resolve({
        calls: ({ secretKey: tenant }) => ({
          ...NO_OTHER_CALLS,
          factsPage: (since, cursor) => {
            asked.push({ process: name, tenant, cursor });
            walkedFrom.push(since);
            return answers.get(tenant)?.(cursor) ?? Promise.resolve(END);
          },
        }),
      }),
    logger: { warn: () => undefined },
    destroyExpiredKeys: () => Promise.resolve(0),
    onEnd: (end) => ends.push(end),
  };
  // No page of these tests has a fact: nothing is recorded.
  const syncs = new DailySyncs(parts as DailySyncsParts);
  running.push({ syncs, presence });
  syncs.worker.loop.start();
  return presence;
}

interface Row {
  readonly tenant: string;
  readonly cursor: string | null;
  readonly failures: number;
  readonly problem: string | null;
  readonly isDone: boolean;
  readonly isDue: boolean;
  readonly isClaimed: boolean;
}

async function rows(): Promise<readonly Row[]> {
  const found = await pool.query<Row>(
    `select tenant, payload ->> 'cursor' as cursor, attempts as failures, reason as problem,
       last_sync_at is not null as "isDone", due_at <= now() as "isDue",
       work_items.claimed_by is not null as "isClaimed"
     from ledger.payment_tenants join ledger.work_items using (tenant) order by tenant`,
  );
  return found.rows;
}

const areDone = (...tenants: readonly string[]) =>
  eventually(async () =>
    (await rows()).every(({ tenant, isDone }) => isDone || !tenants.includes(tenant)),
  );

test('the daily walk goes from page to page, and is due again in a day', async () => {
  answers.set('a', (cursor) => Promise.resolve(cursor === null ? { ...END, next: '2' } : END));
  await due('a');
  await start('one');
  await areDone('a');
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, '2']);
  await eventually(async () => (await rows())[0]?.isClaimed === false);
  expect(await rows()).toEqual([
    expect.objectContaining({ cursor: null, failures: 0, isDue: false }),
  ]);
});

test('the first daily walk goes back to the connection, however late it is', async () => {
  await due('a');
  await pool.query(
    `update ledger.work_items set due_at = now() - interval '10 days', waiting_since = now() - interval '10 days'`,
  );
  await start('one');
  await areDone('a');
  expect(walkedFrom[0]).toBeLessThanOrEqual(Date.now() - 11 * 86_400_000);
});

test('the daily walk of a provider that hangs holds up no other one', async () => {
  for (const tenant of ['a', 'b', 'c']) answers.set(tenant, hang);
  const others = ['d', 'e', 'f', 'g', 'h'];
  await due('a', 'b', 'c', ...others);
  await start('one');
  await areDone(...others);
  expect((await rows()).filter(({ isDone }) => !isDone).map(({ tenant }) => tenant)).toEqual([
    'a',
    'b',
    'c',
  ]);
});

test('the daily walk is shared by processes: each page is requested once', async () => {
  const tenants = 'a b c d e f g h i j'.split(' ');
  await due(...tenants);
  await Promise.all([start('one'), start('two')]);
  await areDone(...tenants);
  expect(asked.map(({ tenant }) => tenant).sort()).toEqual(tenants);
});

test('the daily walk of a process that was killed continues at its page in another one', async () => {
  answers.set('a', (cursor) => (cursor === '2' ? hang() : Promise.resolve({ ...END, next: '2' })));
  await due('a');
  const killed = await start('one');
  await eventually(() => asked.length === 2);
  await start('two');
  answers.set('a', () => Promise.resolve(END));
  // It claims nothing more, and its page never ends.
  void running[0]?.syncs.worker.loop.stop();
  await killed.stop();
  await areDone('a');
  expect(asked.slice(2)).toEqual([{ process: 'two', tenant: 'a', cursor: '2' }]);
});

test('the daily walk that a provider does not answer is repeated later, at its page', async () => {
  answers.set('a', (cursor) =>
    cursor === null
      ? Promise.resolve({ ...END, next: '2' })
      : Promise.reject(new ProviderFailure('unavailable', 'the provider answered 429')),
  );
  await due('a');
  await start('one');
  await eventually(async () => (await rows())[0]?.problem !== null);
  expect(await rows()).toEqual([
    expect.objectContaining({ cursor: '2', problem: 'the provider answered 429', isDue: false }),
  ]);
  answers.set('a', () => Promise.resolve(END));
  await pool.query('update ledger.work_items set due_at = now()');
  await areDone('a');
  await eventually(async () => (await rows())[0]?.isClaimed === false);
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, '2', '2']);
  expect(await rows()).toEqual([expect.objectContaining({ failures: 0, problem: null })]);
});
