import { SCENARIOS, type RoundPlan } from '../../simulator/plan.js';
import { runRound } from '../../simulator/round.js';
import { WISH_WEIGHTS } from '../../simulator/wishes.js';

const BILLED = {
  ...WISH_WEIGHTS,
  sync: 0,
  user: 40,
  code: 20,
  discount: 8,
  reward: 3,
  moderate: 5,
};

/** Rounds that broke a promise once, by what was wrong, where no smaller test shows it. */
const ROUNDS: Readonly<Record<string, RoundPlan>> = {
  'a late write of endpoints that were looked up again overwrote how they were by then': {
    seed: 1_258_807_999,
    commands: 181,
    clients: 1,
    processes: 1,
    accounts: 10,
    program: 'codes of a tank',
    cacheBytes: 67_108_864,
    creditMax: 500,
    wishes: WISH_WEIGHTS,
    endpoints: 1,
    faults: SCENARIOS['everything and losses'],
  },
  'an erasure that was finished a week late, and whose end the log lost, was not finished again': {
    seed: 1_357_718_180,
    commands: 500,
    clients: 3,
    processes: 3,
    accounts: 11,
    program: 'billed: late and moderated',
    cacheBytes: 65_536,
    creditMax: 500,
    wishes: BILLED,
    endpoints: 1,
    mode: 'live',
    faults: SCENARIOS['payments and losses'],
  },
};

it.each(Object.entries(ROUNDS))(
  '%s: the round breaks no promise any more',
  async (_, plan) => {
    expect((await runRound(plan)).violations).toEqual([]);
  },
  600_000,
);
