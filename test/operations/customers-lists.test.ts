import {
  ACCOUNT_SORTS,
  ACCOUNT_STATES,
  type AccountFilters,
} from '../../projections/accounts/list-queries.js';
import {
  MODERATION_STATES,
  REFERRAL_SORTS,
  type ReferralFilters,
} from '../../projections/referrals/list-queries.js';
import type { BalanceSort } from '../../projections/reward-balances/list-queries.js';
import { REWARD_SORTS, type RewardFilters } from '../../projections/rewards/list-queries.js';
import { USER_SORTS, USER_STATES, type UserFilters } from '../../projections/users/list-queries.js';
import { SHOWN_REWARD_STATES } from '../../src/domain/account/rewards/shown-state.js';
import { schemaOf } from '../../src/projecting/identifiers.js';
import {
  COUNTED_MAX,
  type ListRequest,
  type RowQueries,
} from '../../src/projecting/following/row-lists.js';
import { accountOf, FORGOTTEN_USER, givenTenant, NOW, SCOPE } from './support/listed-tenant.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { openOnce } from '../support/opened.js';

/**
 * The lists of customers over a tenant of every state, compared with what the routes answer from
 * the same read models. test/domain/shown-reward-state.test.ts has the states of rewards.
 */

const projected = openOnce(() => ProjectedLedger.open(), 'close');
const reads = openOnce(() => projected.customers(() => NOW));

beforeAll(async () => {
  projected.startRunner();
  await givenTenant(projected);
});

const ALL = { descending: true, limit: 1_000, offset: 0 };
const LISTS = {
  users: { sorts: USER_SORTS, key: 'userId' },
  accounts: { sorts: ACCOUNT_SORTS, key: 'accountId' },
  referrals: { sorts: REFERRAL_SORTS, key: 'referralId' },
  rewards: { sorts: REWARD_SORTS, key: 'rewardId' },
} as const;
type Row = Readonly<Record<string, unknown>>;
const listOf = (name: string) => Reflect.get(reads, name) as RowQueries<object, string, Row>;

const sortable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length;
  if (typeof value === 'object' && value !== null) return sortable(Reflect.get(value, 'name'));
  return typeof value === 'string' ? value.toLowerCase() : value;
};

describe.each(Object.entries(LISTS))('the list of %s', (name, { sorts, key }) => {
  const ask = (request: ListRequest<object, string>) => listOf(name).page(SCOPE, request);

  test.each(sorts.flatMap((sort) => [[sort, true] as const, [sort, false] as const]))(
    'is in the order of %s (descending: %s), the same in pages and in a file',
    async (sort, descending) => {
      const request = { filters: {}, sort, descending };
      const whole = await ask({ ...request, limit: 1_000, offset: 0 });
      expect(whole.rows.length).toBeGreaterThan(8);
      expect(whole).toMatchObject({ total: whole.rows.length, isAbout: false });
      const values = whole.rows.map((row) => sortable(row[sort])).filter((value) => value !== null);
      const nulls = whole.rows.length - values.length;
      expect(whole.rows.slice(values.length).map((row) => sortable(row[sort]))).toEqual(
        Array<null>(nulls).fill(null),
      );
      const sorted = [...values].sort((a, b) => {
        const order = (a as string) < (b as string) ? -1 : a === b ? 0 : 1;
        return descending ? -order : order;
      });
      expect(values).toEqual(sorted);
      const paged: Row[] = [];
      for (let offset = 0; offset < whole.total; offset += 7)
        paged.push(...(await ask({ ...request, limit: 7, offset })).rows);
      expect(paged).toEqual(whole.rows);
      const filed: Row[] = [];
      for await (const row of listOf(name).rows(SCOPE, request)) filed.push(row);
      expect(filed).toEqual(whole.rows);
      expect(new Set(filed.map((row) => row[key])).size).toBe(filed.length);
    },
  );

  test('shows no row of another mode or tenant', async () => {
    const sort = sorts[0];
    for (const scope of [{ ...SCOPE, mode: 'test' } as const, { ...SCOPE, tenant: 'else' }])
      expect(await listOf(name).page(scope, { filters: {}, sort, ...ALL })).toEqual({
        rows: [],
        total: 0,
        isAbout: false,
      });
  });
});

const users = (filters: UserFilters) =>
  reads.users.page(SCOPE, { filters, sort: 'created', ...ALL });
const accounts = (filters: AccountFilters) =>
  reads.accounts.page(SCOPE, { filters, sort: 'opened', ...ALL });
const referrals = (filters: ReferralFilters) =>
  reads.referrals.page(SCOPE, { filters, sort: 'started', ...ALL });
const rewards = (filters: RewardFilters) =>
  reads.rewards.page(SCOPE, { filters, sort: 'given', ...ALL });

test('users are those of the API, by person', async () => {
  const { items } = await projected.users().list(SCOPE, { limit: 1_000, offset: 0 });
  expect((await users({})).rows).toEqual(
    items.map((user) => ({
      name: [user.firstName, user.lastName].filter(Boolean).join(' ') || user.userId,
      userId: user.userId,
      accountId: user.accountId,
      email: user.email,
      code: Object.values(user.referralCodes).sort()[0] ?? null,
      state: user.dateBlocked === null ? 'Active' : 'Blocked',
      created: user.dateCreated,
      blocked: user.dateBlocked,
    })),
  );
});

test('users are found by state, date, program, code and words of their names', async () => {
  const all = (await users({})).rows;
  for (const state of USER_STATES)
    expect((await users({ state })).rows).toEqual(all.filter((row) => row.state === state));
  const [from, to] = [all[9]?.created ?? 0, all[3]?.created ?? 0];
  expect((await users({ from, to })).rows).toEqual(
    all.filter(({ created }) => created >= from && created <= to),
  );
  expect((await users({ program: 'partners' })).rows.map(({ code }) => code)).toEqual(['PARTNER4']);
  expect((await users({ code: 'partner4' })).rows.map(({ userId }) => userId)).toEqual(['user-4']);
  expect((await users({ code: 'old-code-4' })).rows.map(({ userId }) => userId)).toEqual([
    'user-4',
  ]);
  const byName = await users({ text: 'rank JA' });
  expect(byName.rows.map(({ name }) => name)).toEqual(['Jana Frank']);
  expect(byName).toMatchObject({ total: 1, isAbout: false });
});

test('accounts show people, state, and the balances of the API', async () => {
  const { rows } = await accounts({});
  for (const row of rows) {
    const { accountRef } = accountOf(row.accountId);
    const facts = await projected.accounts().byRef(SCOPE, accountRef);
    expect(row.state.toUpperCase()).toBe(facts?.subscription.status);
    expect(row).toMatchObject({ currency: facts?.currency, code: facts?.referralCode });
    const balances = await projected.balances().list(SCOPE, { accountRef, now: NOW });
    expect(row.balances).toEqual(
      balances
        .filter(({ totalAvailableCredit }) => totalAvailableCredit > 0)
        .map(({ unit, totalAvailableCredit: available }) => ({ unit, available })),
    );
  }
  expect(rows.some(({ balances }) => balances.length > 0)).toBe(true);
  const [crowd] = (await accounts({ text: 'crowd' })).rows;
  expect(crowd).toMatchObject({ people: ['a', 'b', 'c'], peopleCount: 5 });
});

test('accounts are found by state, date, and words of their id and of their people', async () => {
  const all = (await accounts({})).rows;
  for (const state of ACCOUNT_STATES)
    expect((await accounts({ state })).rows).toEqual(all.filter((row) => row.state === state));
  const [from, to] = [all[6]?.opened ?? 0, all[2]?.opened ?? 0];
  expect((await accounts({ from, to })).rows).toEqual(all.slice(2, 7));
  const found = await accounts({ text: 'frank jana' });
  expect(found.rows.map(({ accountId }) => accountId)).toEqual(['account-3']);
  expect((await accounts({ text: 'COUNT-7' })).rows.map((row) => row.accountId)).toEqual([
    'account-7',
  ]);
});

test('referrals are those of the API, without what belongs to a forgotten person', async () => {
  const { items } = await projected.referrals().list(SCOPE, {}, { limit: 1_000, offset: 0 });
  const { rows } = await referrals({});
  expect(rows.map((row) => [row.referralId, row.code, row.program, row.started])).toEqual(
    items.map((one) => [
      one.referralId,
      one.referralCodeUsed,
      one.programId,
      one.dateReferralStarted,
    ]),
  );
  expect(rows.map((row) => [row.referredRewardId, row.referrerRewardId, row.moderated])).toEqual(
    items.map((one) => [one.referredRewardId, one.referrerRewardId, one.dateModerated]),
  );
  expect(rows.map(({ referrerRewardId }) => referrerRewardId)).toContain('reward-friend-3');
  expect(rows.map((row) => [row.converted, row.ended, row.fraudSignals])).toEqual(
    items.map((one) => [one.dateReferralPaid, one.dateReferralEnded, one.fraudSignals]),
  );
  const ofForgotten = rows.filter(({ referrer }) => referrer.userId === null);
  expect(ofForgotten.length).toBeGreaterThan(0);
  for (const { referrer, code } of ofForgotten) {
    expect(referrer).toEqual({ name: null, userId: null, accountId: null });
    expect(code).toBeNull();
  }
  expect(JSON.stringify(rows)).not.toContain(FORGOTTEN_USER);
});

test('referrals are found by state, moderation of either side, date, code, program and words', async () => {
  const all = (await referrals({})).rows;
  for (const state of ['Started', 'Converted', 'Ended'] as const) {
    const { rows } = await referrals({ state });
    expect(rows).toEqual(all.filter((row) => row.state === state));
    expect(rows.length).toBeGreaterThan(0);
  }
  for (const moderation of MODERATION_STATES) {
    const { rows } = await referrals({ moderation });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(
      all.filter((row) => [row.referredModeration, row.referrerModeration].includes(moderation)),
    );
  }
  const [from, to] = [all[5]?.started ?? 0, all[1]?.started ?? 0];
  expect((await referrals({ from, to })).rows).toEqual(all.slice(1, 6));
  expect((await referrals({ program: 'partners' })).total).toBe(1);
  expect((await referrals({ code: 'code' })).rows).toEqual(all.filter(({ code }) => code !== null));
  expect((await referrals({ text: 'frank jan' })).rows.length).toBeGreaterThan(0);
  expect((await referrals({ text: 'referral-2' })).rows.map((row) => row.referralId)).toEqual([
    'referral-2',
  ]);
});

test('rewards are those of the API', async () => {
  const { rows } = await rewards({});
  const ids = rows.map(({ rewardId }) => rewardId);
  const facts = await projected.rewards().byIds(SCOPE, ids);
  expect(ids.filter((id) => !facts.has(id))).toEqual([]);
  for (const row of rows) {
    const fact = facts.get(row.rewardId);
    expect(row).toMatchObject({
      userId: fact?.user_id,
      accountId: fact?.account_id,
      type: fact?.type,
      name: fact?.name,
      granted: fact?.assigned_credit ?? fact?.amount,
      percent: fact?.discount_percent,
      unit: fact?.unit,
      given: fact?.date_given,
      expires: fact?.date_expires,
      referralId: fact?.referral_id,
    });
  }
});

test('every reward is found by its state, also by the clock alone', async () => {
  const all = (await rewards({})).rows;
  for (const state of SHOWN_REWARD_STATES) {
    const { rows } = await rewards({ state });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(all.filter((row) => row.state === state));
  }
});

test('rewards are found by date, program, unit, and words of ids and names', async () => {
  const all = (await rewards({})).rows;
  const [from, to] = [all[5]?.given ?? 0, all[1]?.given ?? 0];
  expect((await rewards({ from, to })).rows).toEqual(
    all.filter(({ given }) => given >= from && given <= to),
  );
  const cancelled = (await rewards({ cancelledFrom: 0, cancelledTo: NOW })).rows;
  expect(cancelled.length).toBeGreaterThan(0);
  expect(cancelled).toEqual(all.filter((row) => row.cancelled !== null));
  const byProgram = await rewards({ program: 'partners' });
  expect(byProgram.rows.map(({ program }) => program)).toEqual(['partners']);
  expect((await rewards({ unit: 'points' })).rows).toEqual(
    all.filter(({ unit }) => unit === 'POINTS'),
  );
  expect((await rewards({ text: 'FRANK ana' })).rows).toEqual(
    all.filter(({ person }) => person === 'Jana Frank'),
  );
  expect((await rewards({ text: 'welcome' })).rows).toEqual(
    all.filter(({ name }) => name === 'Welcome gift'),
  );
  expect((await rewards({ text: '%' })).total).toBe(0);
});

test('CENTS have the currency of the credit, else that of the account', async () => {
  const { rows } = await accounts({ text: 'account-' });
  const seen = rows.map(({ accountId, currency, currencyOfCents }) => [
    accountId,
    currency,
    currencyOfCents,
  ]);
  expect(seen).toEqual(expect.arrayContaining([['account-6', 'USD', 'EUR']]));
  expect(seen).toEqual(expect.arrayContaining([['account-2', 'USD', 'USD']]));
  const balances = await reads.balances.page(SCOPE, { filters: {}, sort: 'account', ...ALL });
  const expected = new Map<string, bigint>();
  for (const { account, unit, currency, available } of balances.rows) {
    expect(currency).toBe(rows.find((row) => row.accountId === account)?.currencyOfCents);
    const key = `${unit} ${currency}`;
    expected.set(key, (expected.get(key) ?? 0n) + BigInt(available));
  }
  const sums = await reads.balanceSums(SCOPE);
  expect(new Map(sums.map((sum) => [`${sum.unit} ${sum.currency}`, sum.available]))).toEqual(
    expected,
  );
});

const ROWS = 1.5 * COUNTED_MAX;

test('a total beyond what is counted is marked as an estimate', async () => {
  await projected.pool.query(
    `insert into ${schemaOf('accounts', 1)}.accounts
     select 'bulk' || n, 'bulk', 'live', 'bulk' || n, 'USD', null, null, null, n
     from generate_series(1, ${ROWS}) n`,
  );
  await projected.pool.query(`analyze ${schemaOf('accounts', 1)}.accounts`);
  const request = { filters: {}, sort: 'opened', descending: true, limit: 1, offset: 0 } as const;
  const page = await reads.accounts.page({ tenant: 'bulk', mode: 'live' }, request);
  expect(page.isAbout).toBe(true);
  expect(page.rows).toMatchObject([{ accountId: `bulk${ROWS}` }]);
  expect(page.total / ROWS).toBeCloseTo(1, 1);
});

// At the later time dates have passed that no event records.
test.each([NOW, NOW + 20_000])('balances at %d are those of the API', async (now) => {
  const later = projected.customers(() => now);
  const expected: object[] = [];
  for (const { accountId } of (await accounts({})).rows) {
    const { accountRef } = accountOf(accountId);
    const found = await projected.balances().list(SCOPE, { accountRef, type: 'CREDIT', now });
    expected.push(
      ...found.map(
        ({ unit, totalAvailableCredit: available, totalPendingCredit: pending }): object =>
          expect.objectContaining({ account: accountId, unit, available, pending }) as object,
      ),
    );
  }
  expect(expected.length).toBeGreaterThan(5);
  const page = (sort: BalanceSort, filters = {}) =>
    later.balances.page(SCOPE, { filters, sort, ...ALL });
  for (const sort of ['opened', 'account', 'unit', 'balance', 'pending'] as const) {
    const { rows, total } = await page(sort);
    expect(rows).toHaveLength(total);
    expect(rows).toEqual(expect.arrayContaining(expected));
    expect(total).toBe(expected.length);
    const filed = [];
    const request = { filters: {}, sort, descending: true };
    for await (const row of later.balances.rows(SCOPE, request)) filed.push(row);
    expect(filed).toEqual(rows);
  }
  const { rows } = await page('balance');
  const available = rows.map((row) => row.available);
  expect(available).toEqual([...available].sort((a, b) => b - a));
  const points = await page('opened', { unit: 'points', text: 'frank' });
  expect(points).toMatchObject({ total: 1, rows: [{ account: 'account-3', unit: 'POINTS' }] });
  const sums = await later.balanceSums(SCOPE);
  const sumOf = (of: readonly { available: number | bigint; pending: number | bigint }[]) =>
    of.reduce((sum, one) => sum + BigInt(one.available) + BigInt(one.pending), 0n);
  expect(sumOf(sums)).toBe(sumOf(rows));
});
