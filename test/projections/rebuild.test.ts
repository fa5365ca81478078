// Over 5 s: each course builds the read models of a database of its own.
import { accountProjectors } from '../../projections/account-projectors.js';
import { rewardBalancesProjector } from '../../projections/reward-balances/projector.js';
import type { BalanceRow } from '../../projections/reward-balances/table.js';
import type { FollowedProjections } from '../support/followed.js';
import type { AccountEventOf } from '../../src/domain/account/account.events.js';
import type { ProjectedEvent, Row } from '../../src/projecting/projector.js';
import type { RebuildStage } from '../../src/projecting/generations/rebuild.js';
import {
  accountOpened,
  anAccount,
  credit,
  partyOf,
  personOf,
  rewardGranted,
  userIdentified,
  type TestAccount,
} from '../support/account-events.js';
import { END_SESSIONS } from '../support/ended-sessions.js';
import { eventually } from '../support/embedded.js';
import { withApply } from '../support/next-release.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { Rebuilding } from '../support/rebuilding.js';
import { openForEach } from '../support/opened.js';

const ALL = accountProjectors.map(({ name }) => name);
const BALANCES = 'reward-balances';
const WITHIN_MS = 10_000;
const scope = { tenant: 'demo', mode: 'live' } as const;

/** A projector with a bug: rewards of thirteen count a thousand times in the balance. */
const buggy = withApply(rewardBalancesProjector, (event, rows) => {
  rewardBalancesProjector.apply(event, rows);
  if (!isOfThirteen(event.event)) return;
  const key = [event.accountRef, event.event.person, 'CREDIT', 'cents'];
  const row = rows.get('reward_balances', key) as BalanceRow | undefined;
  if (row) rows.put('reward_balances', { ...row, available_credit: row.available_credit + 12_987 });
});

const isOfThirteen = (event: ProjectedEvent): event is AccountEventOf<'RewardGranted'> =>
  event.type === 'RewardGranted' &&
  event.value.type === 'CREDIT' &&
  event.value.assignedCredit === 13;

const projected = openForEach(() => ProjectedLedger.open(), 'close');
const rebuilding = openForEach(() => new Rebuilding(projected));

let granted = 0;
async function given(account: TestAccount, ...amounts: readonly number[]): Promise<string> {
  const rewards = amounts.map((amount) =>
    rewardGranted(`w${(granted += 1)}`, partyOf(account, 'u'), credit(amount)),
  );
  return projected.ledger.happened(
    account,
    accountOpened(account),
    userIdentified(account, 'u'),
    ...rewards,
  );
}

const reached = async (runner: FollowedProjections, position: string): Promise<void> => {
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
};

async function available(account: TestAccount): Promise<number | undefined> {
  const [balance] = await projected
    .balances()
    .list(scope, { accountRef: account.accountRef, now: 5_000 });
  return balance?.totalAvailableCredit;
}

/** A read model that was written by the release with the bug, and the release without it. */
async function afterTheFix(
  warnings: string[] = [],
): Promise<{ runner: FollowedProjections; hit: TestAccount; spared: TestAccount }> {
  const [hit, spared] = [anAccount('hit'), anAccount('spared')];
  const before = projected.startRunner({ projectors: buggy });
  await given(spared, 5, 6);
  await reached(before, await given(hit, 13, 1));
  await before.stop();
  const logger = {
    info: () => undefined,
    warn: (_: object, message: string) => void warnings.push(message),
    error: () => undefined,
  };
  const runner = projected.startRunner({ logger });
  await reached(runner, await given(anAccount('later'), 13));
  expect([await available(hit), await available(spared)]).toEqual([13_001, 11]);
  return { runner, hit, spared };
}

test('a bug in a projector leaves rows that a rebuild shows, and only those; the swap repairs them, the roll-back brings them back', async () => {
  const { runner, hit, spared } = await afterTheFix();
  const [built] = await rebuilding.rebuild([BALANCES]);
  expect(built).toMatchObject({ generation: 2, liveGeneration: 1, differences: 1, parked: 0 });
  const differences = await rebuilding.differences(BALANCES, 1, 2);
  expect(differences).toEqual([
    {
      table: 'reward_balances',
      live: expect.objectContaining({
        account_ref: hit.accountRef,
        person: personOf(hit, 'u'),
        available_credit: 13_001,
      }) as Row,
      built: expect.objectContaining({
        account_ref: hit.accountRef,
        available_credit: 14,
      }) as Row,
    },
  ]);
  // Nothing is switched by building.
  expect(await available(hit)).toBe(13_001);

  await rebuilding.swap(BALANCES);
  await projected.generations.refresh();
  expect([await available(hit), await available(spared)]).toEqual([14, 11]);
  const more = anAccount('more');
  await reached(runner, await given(more, 13));
  expect(await available(more)).toBe(13);

  await rebuilding.rollBack(BALANCES);
  await projected.generations.refresh();
  // What the generation missed while it was not live is in it, too.
  expect([await available(hit), await available(more)]).toEqual([13_001, 13]);
  expect(await rebuilding.states(BALANCES)).toEqual({ 1: 'live', 2: 'retired' });
  await rebuilding.rollBack(BALANCES);
  expect(await rebuilding.states(BALANCES)).toEqual({ 1: 'retired', 2: 'live' });
});

test.each(['account', 'tenant'] as const)(
  'a bug in a projector is repaired in place for one %s, and nothing else is touched',
  async (kind) => {
    const warnings: string[] = [];
    const { runner, hit } = await afterTheFix(warnings);
    const elsewhere = anAccount('elsewhere', { tenant: 'other' });
    await reached(runner, await given(elsewhere, 2));
    const table = '"rm_reward_balances_1"."reward_balances"';
    await projected.pool.query(`update ${table} set available_credit = 77 where tenant = 'other'`);
    await projected.pool.query(
      `insert into ${table} select account_ref, person, 'FUELTANK', 'x', tenant, mode, user_id, account_id, unit, 0, 0, 9,0,0,0,0,0,0,0,0,0 from ${table} where account_ref = $1`,
      [hit.accountRef],
    );
    const part =
      kind === 'account'
        ? ({ kind: 'streams', streams: new Set([hit.stream]) } as const)
        : ({ kind: 'tenant', tenant: 'demo', mode: 'live' } as const);
    const [repaired] = await rebuilding.repair([BALANCES], part);
    expect(repaired).toMatchObject({
      generation: 1,
      added: 0,
      changed: 1,
      removed: 1,
      parked: 0,
    });
    expect(await available(hit)).toBe(14);
    const { rows } = await projected.pool.query(
      `select available_credit::integer as credit from ${table} where tenant = 'other'`,
    );
    expect(rows).toEqual([{ credit: 77 }]);
    // The live writer continues.
    await reached(runner, await given(anAccount('next'), 1));
    expect((await runner.status()).every(({ lastError }) => lastError === null)).toBe(true);
    expect(warnings).toEqual([]);
    expect(await rebuilding.repair([BALANCES], part)).toMatchObject([
      { added: 0, changed: 0, removed: 0 },
    ]);
  },
);

test('A skipped event stays left out in repairs of any stream, and the next generation tries it again.', async () => {
  const failing = withApply(rewardBalancesProjector, (event, rows) => {
    rewardBalancesProjector.apply(event, rows);
    if (isOfThirteen(event.event)) throw new Error('contradiction');
  });
  const ofFailing = new Rebuilding(projected, failing);
  const runner = projected.startRunner({ projectors: failing });
  const [hit, spared] = [anAccount('hit'), anAccount('spared')];
  await given(spared, 3);
  await reached(runner, await given(hit, 5, 13, 7));
  const state = async () => {
    const status = (await runner.status()).find(({ projection }) => projection === BALANCES);
    return [await available(hit), status?.parkedStreams, status?.skipped];
  };
  expect(await state()).toEqual([5, 1, 0]);
  const { rows } = await projected.pool.query<{ position: string }>(
    'select position from ledger.parked_streams',
  );
  const streamOf = ({ stream }: TestAccount) =>
    ({ kind: 'streams', streams: new Set([stream]) }) as const;
  await ofFailing.repair([BALANCES], streamOf(hit), [
    { stream: hit.stream, position: rows[0]?.position ?? '' },
  ]);
  expect(await state()).toEqual([12, 0, 1]);
  for (const part of [streamOf(spared), streamOf(hit), { kind: 'tenant', ...scope } as const])
    await ofFailing.repair([BALANCES], part);
  await reached(
    runner,
    await projected.ledger.happened(hit, rewardGranted('late', partyOf(hit, 'u'), credit(1))),
  );
  expect(await state()).toEqual([13, 0, 1]);
  expect(await ofFailing.rebuild([BALANCES])).toMatchObject([{ parked: 1 }]);
  await ofFailing.swap(BALANCES);
  expect((await state()).slice(1)).toEqual([1, 0]);
});

test('reads during a rebuild never fail, never see a mixture, never miss their own writes; the switch takes less than 50 ms', async () => {
  const marking = withApply(rewardBalancesProjector, (event, rows) =>
    rewardBalancesProjector.apply(event, {
      found: (table) => rows.found(table),
      get: (table, key) => rows.get(table, key),
      delete: (table, key) => rows.delete(table, key),
      put: (table, row) =>
        rows.put(table, table === 'reward_balances' ? { ...row, fuel_tank_codes: 1 } : row),
    }),
  );
  const runner = projected.startRunner({ projectors: marking, pageSize: 50 });
  const [busy, idle] = [anAccount('busy'), anAccount('idle')];
  const give = (account: TestAccount) =>
    ['a', 'b', 'c'].map((unit) =>
      rewardGranted(`w${(granted += 1)}`, partyOf(account, 'u'), credit(1, unit)),
    );
  for (const account of [busy, idle])
    await reached(
      runner,
      await projected.ledger.happened(
        account,
        accountOpened(account),
        userIdentified(account, 'u'),
        ...give(account),
      ),
    );

  let isOver = false;
  const seen = { marked: 0, plain: 0 };
  const write = async (): Promise<void> => {
    for (let round = 1; !isOver; round++) {
      const position = await projected.ledger.happened(busy, ...give(busy));
      expect(await runner.waitFor(position, [BALANCES], WITHIN_MS)).toBe(true);
      const counts = (await balances(busy)).map(({ count }) => count);
      expect(counts.every((count) => count >= round + 1)).toBe(true);
    }
  };
  const balances = (account: TestAccount) =>
    projected.balances().list(scope, { accountRef: account.accountRef, now: 5_000 });
  const read = async (): Promise<void> => {
    while (!isOver) {
      const marks = (await balances(idle)).map(({ totalFuelTankCodes }) => totalFuelTankCodes);
      expect(new Set(marks).size).toBe(1);
      if (marks[0] === 1) seen.marked += 1;
      else seen.plain += 1;
    }
  };
  const work = Promise.all([write(), read(), read()]);
  try {
    await eventually(() => seen.marked > 50);
    // The same runner continues; only what is rebuilt is without the mark.
    const [built] = await rebuilding.rebuild([BALANCES]);
    expect([built?.generation, seen.plain]).toEqual([2, 0]);
    const held = [(await rebuilding.swap(BALANCES)).heldMs];
    await projected.generations.refresh();
    await eventually(() => seen.plain > 50);
    const rollBack = async (times: number): Promise<void> => {
      while (times-- > 0) held.push((await rebuilding.rollBack(BALANCES)).heldMs);
    };
    await rollBack(5);
    // Readers, writer, runner and switch share this process and its machine: one of the switches
    // shows what it takes by itself.
    for (let more = 0; more < 20 && Math.min(...held) >= 50; more++) await rollBack(2);
    process.stdout.write(`switches under load: ${held.map((ms) => ms.toFixed(1)).join(', ')} ms\n`);
    expect(Math.min(...held)).toBeLessThan(50);
    await projected.generations.refresh();
    const before = seen.marked;
    await eventually(() => seen.marked > before + 50);
  } finally {
    isOver = true;
    await work;
  }
});

test('a second rebuild, swap or repair is refused in one line while one runs', async () => {
  const runner = projected.startRunner();
  await reached(runner, await given(anAccount('a'), 1));
  let refused: unknown;
  await rebuilding.rebuild([BALANCES], {
    reached: async (stage) => {
      if (stage !== 'followed') return;
      const other = new Rebuilding(projected);
      refused = await Promise.all(
        [other.rebuild(['users']), other.swap(BALANCES)].map((work) =>
          work.catch((error: unknown) => error),
        ),
      );
    },
  });
  const busy = {
    name: 'GenerationsBusy',
    message: expect.stringMatching(/^another rebuild.* is running/) as string,
  };
  expect(refused).toMatchObject([busy, busy]);
  expect(await rebuilding.states(BALANCES)).toEqual({ 1: 'live', 2: 'ready' });
  expect(await rebuilding.states('users')).toEqual({ 1: 'live' });
});

const STAGES: readonly RebuildStage[] = ['begun', 'followed', 'verified'];

test.each(STAGES)(
  'a rebuild that ends in the middle when it is %s leaves the live generation unchanged, and the next one removes its rest',
  async (deadly) => {
    const runner = projected.startRunner();
    const account = anAccount('a');
    await reached(runner, await given(account, 1, 2));
    const before = await rebuilding.rowsOf(BALANCES, 1);
    const doomed = new Rebuilding(projected, accountProjectors, projected.openDoomedPool('doomed'));
    let isThere = false;
    // Never comes back, as a process that is gone: what it would have cleaned up stays.
    const ended = doomed.rebuild([BALANCES, 'users'], {
      reached: (stage) => {
        if (stage !== deadly) return Promise.resolve();
        isThere = true;
        return new Promise<void>(() => undefined);
      },
    });
    ended.catch(() => undefined);
    await eventually(() => isThere);
    await projected.pool.query(`${END_SESSIONS} and application_name = 'doomed'`);

    expect(await rebuilding.rowsOf(BALANCES, 1)).toEqual(before);
    expect(await available(account)).toBe(3);
    const states = Object.values(await rebuilding.states(BALANCES));
    expect(states.filter((state) => state === 'live')).toHaveLength(1);
    expect(states).not.toContain('ready');
    const more = anAccount('b');
    await reached(runner, await given(more, 5));
    // The lock goes with the connection, which takes a moment.
    let built: readonly { readonly differences: number }[] = [];
    await eventually(async () => {
      built = await rebuilding.rebuild([BALANCES]).catch(() => []);
      return built.length > 0;
    });
    expect(built).toMatchObject([{ differences: 0 }]);
    await rebuilding.swap(BALANCES);
    await projected.generations.refresh();
    expect([await available(account), await available(more)]).toEqual([3, 5]);
    expect(Object.values(await rebuilding.states(BALANCES)).sort()).toEqual(['live', 'retired']);
    const { rows } = await projected.pool.query<{ n: number }>(
      `select count(*)::integer as n from pg_namespace where nspname like 'rm\\_reward\\_balances%'`,
    );
    expect(rows).toEqual([{ n: 2 }]);
  },
);

test('read models that are rebuilt together read the log once, and are logged with all indexes', async () => {
  const runner = projected.startRunner();
  for (const name of ['a', 'b', 'c', 'd']) await given(anAccount(name), 1, 2, 3);
  await reached(runner, await given(anAccount('e'), 4));
  const readsOf = async (names: readonly string[]): Promise<number> => {
    let pages = 0;
    const built = await rebuilding.rebuild(names, {
      pageSize: 4,
      onProgress: ({ phase }) => void (pages += phase === 'reading' ? 1 : 0),
    });
    expect(built).toMatchObject(names.map(() => ({ differences: 0 })));
    return pages;
  };
  expect(await readsOf([BALANCES, 'rewards', 'users'])).toBe(await readsOf([BALANCES]));
  const indexesOf = async (generation: number): Promise<unknown> =>
    (
      await projected.pool.query(
        `select replace(indexdef, schemaname, '') as index from pg_indexes
         where schemaname ~ ('^rm_(rewards|users)_' || $1 || '$') order by 1`,
        [generation],
      )
    ).rows;
  expect(await indexesOf(2)).toEqual(await indexesOf(1));
  expect(await unloggedTables()).toEqual([]);
});

const unloggedTables = async (): Promise<readonly string[]> =>
  (
    await projected.pool.query<{ place: string }>(
      `select oid::regclass::text as place from pg_class
       where relpersistence = 'u' and relkind = 'r' and relnamespace::regnamespace::text ~ '^rm_'`,
    )
  ).rows.map(({ place }) => place);

test('a rebuild whose new tables a crash of Postgres emptied is refused', async () => {
  const runner = projected.startRunner();
  await reached(runner, await given(anAccount('a'), 1, 2, 3));
  const crash = async (stage: RebuildStage): Promise<void> => {
    if (stage === 'followed')
      await projected.pool.query(`truncate ${(await unloggedTables()).join(', ')}`);
  };
  await expect(rebuilding.rebuild([BALANCES], { reached: crash })).rejects.toThrow(
    'Postgres crashed and emptied the new tables of reward-balances: rebuild it again',
  );
  expect(await rebuilding.rebuild([BALANCES])).toMatchObject([{ differences: 0 }]);
});

test('a rebuild that was stopped leaves the live generation, and the next one starts again', async () => {
  const runner = projected.startRunner();
  for (const name of ['a', 'b', 'c', 'd']) await given(anAccount(name), 1, 2, 3);
  await reached(runner, await given(anAccount('e'), 4));
  const stopping = new AbortController();
  let read = 0;
  const onProgress = (): void => {
    if ((read += 1) === 3) stopping.abort();
  };
  const stopped = rebuilding.rebuild([BALANCES], {
    signal: stopping.signal,
    pageSize: 4,
    onProgress,
  });
  await expect(stopped).rejects.toMatchObject({ name: 'Interrupted' });
  expect(await rebuilding.states(BALANCES)).toEqual({ 1: 'live', 2: 'building' });
  const [built] = await rebuilding.rebuild([BALANCES]);
  expect(built).toMatchObject({ generation: 2, differences: 0 });
  expect(await rebuilding.rowsOf(BALANCES, 2)).toEqual(await rebuilding.rowsOf(BALANCES, 1));
});
