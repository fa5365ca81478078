import type { Entry } from '../../src/bookkeeping/postings.js';
import { statementOf, type StatementInput } from '../../src/bookkeeping/statement.js';
import {
  aboutReward,
  creditRedeemed,
  credit,
  erasureRequested,
  rewardCancelled,
} from '../support/account-events.js';
import { digestOf } from '../../src/foundation/canonical-json.js';
import { BOB, entry, granted, grantOf } from './support/entries.js';

const FROM = 2_000;

const statement = async (clock: number, ...entries: readonly Entry[]) => {
  const { units } = await statementOf({
    account: 'acme',
    position: null,
    entries,
    from: FROM,
    clock,
    unit: undefined,
  });
  const [{ opening, closing, lines } = { opening: 0, closing: 0, lines: [] }] = units;
  return { opening, closing, lines: lines.map(({ type, amount }) => [type, amount]) };
};

it('an event at the first moment of a period is a line of it, one before is in the opening', async () => {
  expect(
    await statement(FROM, granted('w1', { at: FROM - 1 }), granted('w2', { at: FROM })),
  ).toEqual({
    opening: 100,
    closing: 200,
    lines: [['issued', 100]],
  });
});

it('a date at the first moment of a period is a line of it, one before is in the opening', async () => {
  const before = granted('w1', { dateScheduledFor: FROM - 1 });
  const at = granted('w2', { dateScheduledFor: FROM });
  expect(await statement(FROM, before, at)).toEqual({
    opening: 100,
    closing: 200,
    lines: [['available', 100]],
  });
});

it('credit is expired from the moment of its date on', async () => {
  const expiring = granted('w1', { dateExpires: 3_000 });
  expect(await statement(2_999, expiring)).toMatchObject({ closing: 100, lines: [] });
  expect(await statement(3_000, expiring)).toEqual({
    opening: 100,
    closing: 0,
    lines: [['expired', -100]],
  });
});

const grant = entry(grantOf('w1'), 5_000);
const redemption = entry(creditRedeemed(grantOf('w1'), 'r1', 30, FROM));
const figures = async (from: number, until: number) => {
  const { units } = await wholeOf([grant, redemption], { from, until, clock: until });
  const [{ opening, closing } = { opening: 0, closing: 0 }] = units;
  return { opening, closing };
};

it('after an entry under a clock that was ahead each posting counts at the time of its own entry, in the order of the log', async () => {
  expect(await figures(FROM, 4_999)).toEqual({ opening: 0, closing: -30 });
  expect(await figures(5_000, 6_000)).toEqual({ opening: -30, closing: 70 });
});

it('a reward that was imported under a clock that was ahead counts from the time of that clock on', async () => {
  const row = { subject: BOB.person, value: {} };
  const imported = {
    ref: 'row',
    row,
    at: 5_000,
    side: null,
    redeemed: 0,
    phase: 'AVAILABLE',
    dateCancelled: null,
  } as const;
  const opening = entry({ ...grantOf('w1', { at: 1_000 }), imported }, FROM);
  expect(await statement(6_000, opening)).toEqual({
    opening: 0,
    closing: 100,
    lines: [['imported', 100]],
  });
  const { units } = await wholeOf([opening], { until: 4_999, clock: 4_999 });
  expect(units).toMatchObject([{ closing: 0, lines: [] }]);
});

const wholeOf = (entries: readonly Entry[], over: Partial<StatementInput> = {}) =>
  statementOf({
    account: 'acme',
    position: null,
    entries,
    from: undefined,
    clock: 9_000,
    unit: undefined,
    ...over,
  });

const entries = ['Points', 'CENTS', 'apples'].map((unit) =>
  granted(unit, { value: credit(5, unit) }),
);

it('units are in order, each with its own lines', async () => {
  expect(
    (await wholeOf(entries)).units.map(({ unit, lines }) => [
      unit,
      lines.map((line) => line.rewardId),
    ]),
  ).toEqual([
    ['apples', ['apples']],
    ['CENTS', ['CENTS']],
    ['Points', ['Points']],
  ]);
});

it.each(['points', 'POINTS'])(
  'a statement of one unit has that unit only, in any case: %s',
  async (unit) => {
    expect((await wholeOf(entries, { unit })).units.map((shown) => shown.unit)).toEqual(['Points']);
  },
);

it('the sum that the provider has paid is shown when it has paid something', async () => {
  const paid = [{ rewardId: 'w1', paidAt: '2026-01-01T00:00:00.000Z', externalReference: null }];
  expect(await wholeOf([], { paid })).toMatchObject({ rewards: paid });
  expect(await wholeOf([], { paid: [] })).not.toHaveProperty('rewards');
  expect(await wholeOf([])).not.toHaveProperty('rewards');
  expect((await wholeOf([], { paid })).digest).not.toBe((await wholeOf([])).digest);
});

it('scheduled credit has lines of the amount 0 until its date; moves behind its end have none', async () => {
  const later = grantOf('w1', { dateScheduledFor: 8_000, redeemsAutomatically: true });
  const { units } = await wholeOf([
    entry(later),
    entry(rewardCancelled(later, 100, 3_000)),
    entry(aboutReward('RewardRestored', later, 100, 4_000)),
  ]);
  const [{ lines } = { lines: [] }] = units;
  expect(lines.map(({ type, amount, balance }) => [type, amount, balance])).toEqual([
    ['scheduled', 0, 0],
    ['cancelled', 0, 0],
    ['restored', 0, 0],
    ['available', 100, 100],
    ['redeemed', -100, 0],
  ]);
  const redeemedByDate = await wholeOf(
    [entry(later), entry(rewardCancelled(later, 100, 8_500), 8_500)],
    {
      from: 8_100,
    },
  );
  expect(redeemedByDate.units).toMatchObject([{ opening: 0, closing: 0, lines: [] }]);
});

it('a line names the actor of its event, or the clock', async () => {
  const { units } = await wholeOf([granted('w1', { at: 1_000, dateExpires: 5_000 })]);
  const [{ lines } = { lines: [] }] = units;
  expect(lines.map(({ rewardId, actor }) => [rewardId, actor])).toEqual([
    ['w1', 'system:test'],
    ['w1', 'system:clock'],
  ]);
});

it('the credit of a forgotten person leaves the balance, as forfeited', async () => {
  expect(
    (await wholeOf([granted('w1'), entry(erasureRequested([BOB.person]), 8_000)])).units,
  ).toMatchObject([{ closing: 0, lines: [{}, { type: 'forfeited', amount: -100 }] }]);
});

it('the digest is that of its canonical JSON, also over many lines, and others have their turn', async () => {
  const many = Array.from({ length: 2_500 }, (_, at) =>
    granted(`w${at}`, { value: credit(1, at % 2 === 0 ? 'CENTS' : 'Points') }),
  );
  let turns = 0;
  const { digest, ...document } = await statementOf(
    { account: 'acme', position: null, entries: many, from: 5, clock: 9_000, unit: undefined },
    async () => void (turns += 1),
  );
  expect(document.units.map(({ lines }) => lines.length)).toEqual([1_250, 1_250]);
  expect(digest).toBe(digestOf(document));
  expect(turns).toBeGreaterThanOrEqual(10);
});
