import { Forecast, type ForecastEvent } from '../../src/bookkeeping/forecast.js';
import type { AccountEvent, Party } from '../../src/domain/account/account.events.js';
import {
  DEFAULT_PROGRAM,
  tankCodesOf,
  toProgram,
} from '../../src/domain/tenant/program-document.js';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import {
  accountOpened,
  anAccount,
  credit,
  erasureRequested,
  forgotten,
  partyOf,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
  type TestAccount,
} from '../support/account-events.js';

const ANNS = anAccount('anns');
const ANN = partyOf(ANNS, 'ann');
const friends = ['a', 'b', 'c'].map((name) => anAccount(name));
const refOf = ({ accountRef }: TestAccount): string => accountRef;

function forecastOf(document: object): Forecast {
  const named = { document: { id: 'default', ...document } as ProgramDocument, eventRules: [] };
  return new Forecast({
    liveId: 'default',
    live: toProgram({ version: 1, document: DEFAULT_PROGRAM, eventRules: [] }, true),
    candidate: toProgram({ ...named, version: 0 }, false),
    codesOf: (rule) => tankCodesOf(named, rule).length,
    since: 0,
    eventRewardId: (account, ...cause) => account + JSON.stringify(cause),
  });
}

const happened = (
  forecast: Forecast,
  account: TestAccount,
  ...events: readonly AccountEvent[]
): void => events.forEach((event) => forecast.add(refOf(account), event as ForecastEvent));

/** Ann, and these friends whom she referred, who have paid. */
function referred(forecast: Forecast, over: Partial<Party> = {}, number = 1): void {
  happened(forecast, ANNS, accountOpened(ANNS), userIdentified(ANNS, 'ann'));
  for (const friend of friends.slice(0, number))
    happened(
      forecast,
      friend,
      accountOpened(friend),
      userIdentified(friend, 'user'),
      referralStarted(`of ${friend.accountId}`, { ...partyOf(friend, 'user'), ...over }, ANN),
      subscriptionChanged({ status: 'PAID' }),
    );
}

const figures = (forecast: Forecast) =>
  Object.fromEntries(
    forecast
      .byRule()
      .map(({ rule, unit, live, candidate }) => [
        `${rule} ${unit}`,
        [live.count, Number(live.amount), candidate.count, Number(candidate.amount)],
      ]),
  );

it('a forecast has a row for every rule of both programs, and the accounts that would get another amount', () => {
  const forecast = forecastOf({
    referredReward: null,
    referrerReward: { type: 'CREDIT', unit: 'cents', assignedCredit: 300 },
  });
  referred(forecast, {}, 3);
  const source = 'FRIEND_SIGNUP';
  happened(
    forecast,
    ANNS,
    rewardGranted('reward', ANN, credit(1_000), {
      source,
      referralId: 'of a',
      programId: 'default',
    }),
    // Given by hand, and by another program.
    rewardGranted('by hand', ANN, credit(70)),
    rewardGranted('other', ANN, credit(70), { source, referralId: 'of a', programId: 'other' }),
  );
  expect(figures(forecast)).toEqual({
    'referredReward %': [0, 0, 0, 0],
    'referrerReward CENTS': [1, 1_000, 3, 900],
  });
  expect(forecast.facts).toBe(3);
  expect(forecast.byAccount(20)).toEqual([
    { account: 'anns', unit: 'CENTS', live: 1_000n, candidate: 900n },
  ]);
});

it('a reward of a forgotten person is taken over, and a reward of an imported referral counts for neither program', () => {
  const forecast = forecastOf({ referrerReward: { type: 'PCT_DISCOUNT', discountPercent: 50 } });
  referred(forecast, { ids: forgotten('user') });
  const granted = (referralId: string) =>
    rewardGranted(`by ${referralId}`, ANN, credit(1_000), {
      source: 'FRIEND_SIGNUP',
      referralId,
      programId: 'default',
    });
  happened(forecast, ANNS, granted('of a'), granted('imported'));
  expect(figures(forecast)).toEqual({
    'referredReward %': [0, 0, 0, 0],
    'referrerReward CENTS': [1, 1_000, 1, 1_000],
    'referrerReward %': [0, 0, 0, 0],
  });
});

it('credit in a unit of the name of percents has a row of its own, and a deleted account takes its difference along', () => {
  const forecast = forecastOf({
    referredReward: { type: 'CREDIT', unit: '%', assignedCredit: 500 },
    referrerReward: null,
  });
  referred(forecast);
  expect(forecast.byRule().map(({ unit, candidate }) => [unit, Number(candidate.amount)])).toEqual([
    ['%', 0],
    ['%', 500],
    ['CENTS', 0],
  ]);
  expect(forecast.byAccount(20)).toHaveLength(1);
  const [friend = ANNS] = friends;
  const { person } = partyOf(friend, 'user');
  happened(forecast, friend, erasureRequested([person], { account: person }));
  happened(forecast, friend, accountOpened(friend));
  expect(forecast.byAccount(20)).toEqual([]);
});

it('a candidate grants no more tank codes than its file has', () => {
  const forecast = forecastOf({
    referrerReward: {
      type: 'FUELTANK',
      fuelTankType: 'CREDIT',
      amount: 40,
      fuelTankCodes: ['one', 'two'],
    },
  });
  referred(forecast, {}, 3);
  expect(figures(forecast)).toMatchObject({ 'referrerReward null': [0, 0, 2, 80] });
});

it('a candidate grants no credit in another currency than the account has', () => {
  const forecast = forecastOf({
    referrerReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5, currency: 'EUR' },
  });
  happened(forecast, ANNS, rewardGranted('by hand', ANN, credit(70, 'CENTS', 'USD')));
  referred(forecast);
  expect(figures(forecast)).toMatchObject({
    'referredReward %': [0, 0, 1, 10],
    'referrerReward CENTS': [0, 0, 0, 0],
  });
});
