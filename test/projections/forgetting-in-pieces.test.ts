// Over 5 s: a person with rows in every table is forgotten five rows at a time, on a Postgres.
import fc from 'fast-check';
import type pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { liveCheckpoints } from '../../src/projecting/checkpoints.js';
import { countUnfinishedErasures } from '../../src/projecting/following/erasure-pieces.js';
import { readModelsReachHead } from '../../src/projecting/following/read-models-reach-head.js';
import {
  accountAttributed,
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  partyOf,
  referralCodeAssigned,
  referralStarted,
  rewardGranted,
  userIdentified,
  type TestAccount,
} from '../support/account-events.js';
import { AccountHistory, historyStep } from '../support/account-history.js';
import { eventually } from '../support/embedded.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { Rebuilding } from '../support/rebuilding.js';
import { runs } from '../support/property-runs.js';
import { openForEach } from '../support/opened.js';

/** People with very many rows are forgotten in pieces, without delaying other events. */

const ALL = accountProjectors.map(({ name }) => name);
const WITHIN_MS = 60_000;
const PIECE = 5;
const REFERRALS = 80;
const scope = { tenant: 'demo', mode: 'live' } as const;
const page = { limit: 1_000, offset: 0 };

const projected = openForEach(() => ProjectedLedger.open(), 'close');
jest.setTimeout(180_000);

/**
 * A pool that says how many rows a statement brought or carried, and in which a test can hold back
 * the statements that clean.
 */
function watched(pool: pg.Pool) {
  const watch = {
    rowsMax: 0,
    pieces: 0,
    hold: undefined as Promise<void> | undefined,
    /** @param isFirst of its projection, written with the event itself. */
    onPiece: undefined as ((projection: string) => Promise<void>) | undefined,
  };
  const query = async (...args: [pg.QueryConfig | string, unknown[]?]): Promise<pg.QueryResult> => {
    const [statement] = args;
    const text = typeof statement === 'string' ? statement : statement.text;
    const values: unknown[] = (typeof statement === 'string' ? args[1] : statement.values) ?? [];
    const isPiece = /^\s*with moved/.test(text) && text.includes('ledger.projection_erasures');
    const projection = isPiece ? ALL.find((name) => values.includes(name)) : undefined;
    if (isPiece) {
      if (projection === undefined) throw new Error('a piece names no projection');
      watch.pieces += 1;
      await watch.onPiece?.(projection);
      await watch.hold;
    }
    const result = await pool.query(...args);
    const carried = values.map((value) =>
      typeof value === 'string' && value.startsWith('[')
        ? (JSON.parse(value) as unknown[]).length
        : 0,
    );
    if (text.includes('"rm_'))
      watch.rowsMax = Math.max(watch.rowsMax, result.rows.length, ...carried);
    return result;
  };
  const connect = async (): Promise<pg.PoolClient> => {
    const client = await pool.connect();
    const ask = async (...args: [string, unknown[]?]): Promise<pg.QueryResult> => {
      const result = await client.query(...args);
      if (args[0].includes('"rm_')) watch.rowsMax = Math.max(watch.rowsMax, result.rows.length);
      return result;
    };
    return new Proxy(client, {
      get: (of, member): unknown => (member === 'query' ? ask : Reflect.get(of, member, of)),
    });
  };
  return { watch, pool: Object.assign(Object.create(pool) as pg.Pool, { query, connect }) };
}

const ann = anAccount('ann');
const annsParty = partyOf(ann, 'u');
const referred = (number: number): TestAccount => anAccount(`friend${number}`);

/**
 * Ann with a code for each piece and more, rewards that she spent in many small redemptions, and
 * very many referrals.
 */
async function annWithManyReferrals(): Promise<void> {
  const codes = Array.from({ length: 2 * PIECE }, (_, number) =>
    referralCodeAssigned(ann, 'u', `CODE${number}`),
  );
  const rewards = Array.from({ length: 2 * PIECE }, (_, number) =>
    rewardGranted(`r${number}`, annsParty, credit(100), { at: 2_100 + number }),
  );
  const [spent] = rewards;
  if (!spent) throw new Error('no reward');
  const redemptions = Array.from({ length: 3 * PIECE }, (_, number) =>
    creditRedeemed(spent, `d${number}`, 1, 5_000),
  );
  await projected.ledger.happened(
    ann,
    accountOpened(ann),
    userIdentified(ann, 'u'),
    ...codes,
    ...rewards,
    ...redemptions,
  );
  for (let number = 0; number < REFERRALS; number++) {
    const account = referred(number);
    const own = partyOf(account, 'f');
    await projected.ledger.happened(
      account,
      accountOpened(account),
      accountAttributed('CODE1', annsParty),
      userIdentified(account, 'f'),
      referralStarted(`ref${number}`, own, annsParty, {
        at: 10_000 + number,
        shareLinkUsed: 'https://example.com/ann',
      }),
      rewardGranted(`own${number}`, own, credit(5), {
        source: 'REFERRED',
        referralId: `ref${number}`,
      }),
    );
    if (number % 10 === 0)
      await projected.ledger.happened(
        ann,
        rewardGranted(`made${number}`, annsParty, credit(5), {
          source: 'FRIEND_SIGNUP',
          referralId: `ref${number}`,
        }),
      );
  }
}

const erasure = { at: 20_000, erasureId: 'erasure', persons: [annsParty.person], account: null };
const REQUESTED: AccountEvent = { type: 'ErasureRequested', ...erasure, suppressed: [] };
const COMPLETED: AccountEvent = { type: 'ErasureCompleted', ...erasure };

async function unfinished(): Promise<number> {
  const lives = ALL.map((projection) => ({ projection, generation: 1 }));
  return countUnfinishedErasures(projected.pool, lives);
}

async function expectNobodySeesAnn(): Promise<void> {
  expect(await projected.codes().byCode(scope, 'CODE1')).toBeUndefined();
  expect(await projected.users().byUserId(scope, ann.accountRef, 'u')).toBeUndefined();
  for (const reward of ['r0', `r${2 * PIECE - 1}`])
    expect(await projected.rewards().byId(scope, reward)).toBeUndefined();
  expect([
    ...(await projected.rewards().byIds(scope, ['r0', 'own0', 'made0'])).keys(),
  ]).toStrictEqual(['own0']);
  expect(await projected.rewards().list(scope, { accountRef: ann.accountRef })).toStrictEqual([]);
  expect(
    await projected.balances().list(scope, { accountRef: ann.accountRef, now: 30_000 }),
  ).toStrictEqual([]);
  for (const number of [0, 40, REFERRALS - 1]) {
    const { accountRef } = referred(number);
    expect(await projected.accounts().byRef(scope, accountRef)).toMatchObject({
      referralCode: null,
    });
    expect(await projected.users().byUserId(scope, accountRef, 'f')).toMatchObject({
      referredBy: { code: null },
    });
    expect(await projected.referrals().byId(scope, `ref${number}`)).toMatchObject({
      referralCodeUsed: null,
      shareLinkUsed: null,
      referrerRewardId: null,
      referredRewardId: `own${number}`,
    });
  }
  for (const { items } of [
    await projected.referrals().list(scope, {}, page),
    await projected.referrals().list(scope, { referrerAccountRef: ann.accountRef }, page),
  ]) {
    expect(items).toHaveLength(REFERRALS);
    expect(
      items.filter(
        ({ referralCodeUsed, shareLinkUsed, referrerRewardId }) =>
          referralCodeUsed ?? shareLinkUsed ?? referrerRewardId,
      ),
    ).toStrictEqual([]);
  }
  for (const filter of [
    { referrerUserId: 'u' },
    { referrerUserId: 'u', referrerAccountRef: ann.accountRef },
    { referrerUserId: 'u', referrerStatus: 'APPROVED' as const },
  ])
    expect(await projected.referrals().list(scope, filter, page)).toStrictEqual({
      totalCount: 0,
      items: [],
    });
  expect((await projected.referrals().list(scope, { referredUserId: 'f' }, page)).totalCount).toBe(
    REFERRALS,
  );
}

test("a person is cleaned in pieces: hidden meanwhile, with no larger statement, and with others' events applied in between", async () => {
  const { watch, pool } = watched(projected.openPool());
  const runner = projected.startRunner({ pool, pieceRowsMax: PIECE, pageSize: 50 });
  await annWithManyReferrals();
  expect(await runner.waitFor((await projected.log.head()) ?? '', ALL, WITHIN_MS)).toBe(true);
  expect((await projected.referrals().list(scope, { referrerUserId: 'u' }, page)).totalCount).toBe(
    REFERRALS,
  );
  expect(await projected.rewards().byId(scope, 'r0')).toMatchObject({ redeemed_credit: 3 * PIECE });

  const other = anAccount('other', { tenant: 'elsewhere' });
  let ofOther: string | undefined;
  let release = (): void => undefined;
  watch.rowsMax = 0;
  watch.pieces = 0;
  watch.onPiece = async () => {
    // Every projection has begun by then, and those with very many rows are in the middle of it.
    if (watch.pieces === 30)
      ofOther = await projected.ledger.happened(
        other,
        accountOpened(other),
        userIdentified(other, 'x'),
      );
    if (watch.pieces === 60) watch.hold = new Promise((resolve) => (release = resolve));
  };
  const tombstone = await projected.ledger.happened(ann, REQUESTED, COMPLETED);
  expect(await runner.waitFor(tombstone, ALL, WITHIN_MS)).toBe(true);
  await expectNobodySeesAnn();
  await eventually(() => watch.hold !== undefined);
  expect(await runner.waitFor(ofOther ?? '', ALL, WITHIN_MS)).toBe(true);
  expect(await unfinished()).toBeGreaterThan(0);
  expect(
    await projected.users().byUserId({ tenant: 'elsewhere', mode: 'live' }, other.accountRef, 'x'),
  ).toBeDefined();
  await expectNobodySeesAnn();
  const caughtUp = await readModelsReachHead(projected.pool, projected.log, accountProjectors);
  expect(await caughtUp()).toBe(false);

  watch.onPiece = undefined;
  release();
  await eventually(caughtUp);
  await expectNobodySeesAnn();
  // A referral with its counters and rewards.
  expect(watch.rowsMax).toBeLessThanOrEqual(PIECE * 8);
  const built = await new Rebuilding(projected).rebuild(ALL);
  expect(built.map(({ differences }) => differences)).toStrictEqual(ALL.map(() => 0));
  const { rows } = await projected.pool.query<{ redemptions: number }>(
    'select count(*)::integer as redemptions from rm_rewards_1.redemptions',
  );
  expect(rows).toStrictEqual([{ redemptions: 0 }]);
});

/** What a log holds of people behind their tombstones: nothing can be read. */
const unreadable = (event: AccountEvent, gone: ReadonlySet<string>): AccountEvent =>
  JSON.parse(JSON.stringify(event), (_key, value: unknown) =>
    typeof value === 'object' &&
    value !== null &&
    'subject' in value &&
    gone.has(String(value.subject))
      ? { ...value, value: null }
      : value,
  ) as AccountEvent;

/** No decision grants a reward to a person whose erasure was requested. */
const isGrantTo = (persons: ReadonlySet<string>, event: AccountEvent): boolean =>
  event.type === 'RewardGranted' && persons.has(event.person);

test('the remains of an interrupted process are cleaned by the next one, and a rebuild and a repair wait for it', async () => {
  const { watch, pool } = watched(projected.openPool());
  const first = projected.startRunner({ pool, pieceRowsMax: PIECE });
  await annWithManyReferrals();
  expect(await first.waitFor((await projected.log.head()) ?? '', ALL, WITHIN_MS)).toBe(true);
  const erased = projected.ledger.happened(ann, REQUESTED, COMPLETED);
  // Not before the projection has the erasure behind it, whatever pages it came in.
  watch.onPiece = async (projection) => {
    if (watch.pieces < 25) return;
    const concerned = accountProjectors.filter(({ name }) => name === projection);
    const [live] = await liveCheckpoints(projected.pool, concerned);
    if (projected.log.compare(live?.position, await erased) >= 0)
      throw new Error('the process ends');
  };
  const tombstone = await erased;
  expect(await first.waitFor(tombstone, ALL, WITHIN_MS)).toBe(true);
  await eventually(() => watch.pieces >= 25);
  await first.stop();
  const left = await unfinished();
  expect(left).toBeGreaterThan(0);
  await expectNobodySeesAnn();

  const rebuilding = new Rebuilding(projected);
  const { accountRef, stream } = referred(7);
  const repaired = rebuilding.repair(['referrals'], {
    kind: 'streams',
    streams: new Set([stream]),
  });
  projected.startRunner({ pieceRowsMax: PIECE });
  expect(await repaired).toMatchObject([{ added: 0, changed: 0, removed: 0 }]);
  expect(await projected.accounts().byRef(scope, accountRef)).toMatchObject({ referralCode: null });
  const built = await rebuilding.rebuild(ALL);
  expect(built.map(({ differences }) => differences)).toStrictEqual(ALL.map(() => 0));
  expect(await unfinished()).toBe(0);
  await expectNobodySeesAnn();
});

test('any history in which people are forgotten leaves the same rows in pieces of one row as a rebuild', async () => {
  const rebuilding = new Rebuilding(projected);
  const runner = projected.startRunner({ pieceRowsMax: 1, pageSize: 7 });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(historyStep, { minLength: 40, maxLength: 120 }),
      fc.array(
        fc.record({ at: fc.nat(120), account: fc.nat(3), user: fc.nat(2), until: fc.nat(6) }),
        { minLength: 1, maxLength: 4 },
      ),
      async (steps, erasures) => {
        const history = new AccountHistory(`h${(run += 1)}`);
        const gone = new Set<string>();
        const forgotten = new Set<string>();
        for (const [index, step] of steps.entries()) {
          const happened = history.next(step);
          if (happened && !isGrantTo(forgotten, happened[1]))
            await projected.ledger.happened(happened[0], unreadable(happened[1], gone));
          for (const [number, { at, account, user, until: later }] of erasures.entries()) {
            const of = anAccount(`a${account}`, {
              tenant: `h${run}`,
              mode: account === 3 ? 'test' : 'live',
            });
            const { person } = partyOf(of, `user${user}`);
            const erased = {
              at: index,
              erasureId: `e${number}`,
              persons: [person],
              account: null,
            };
            if (index === at % steps.length) {
              const requested = { type: 'ErasureRequested', ...erased, suppressed: [] } as const;
              await projected.ledger.happened(of, requested);
              forgotten.add(person);
            }
            if (index !== Math.min(steps.length - 1, (at % steps.length) + later)) continue;
            await projected.ledger.happened(of, { type: 'ErasureCompleted', ...erased });
            gone.add(person);
          }
        }
        expect(await runner.waitFor((await projected.log.head()) ?? '', ALL, WITHIN_MS)).toBe(true);
        await eventually(
          await readModelsReachHead(projected.pool, projected.log, accountProjectors),
        );
        const built = await rebuilding.rebuild(ALL);
        for (const { projection, generation, liveGeneration } of built)
          expect(await rebuilding.rowsOf(projection, liveGeneration)).toEqual(
            await rebuilding.rowsOf(projection, generation),
          );
      },
    ),
    { numRuns: runs(3), endOnFailure: true },
  );
});
