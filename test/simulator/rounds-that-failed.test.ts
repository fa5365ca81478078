import type { RoundPlan } from '../../simulator/plan.js';
import { runRound } from '../../simulator/round.js';
import { WISH_WEIGHTS } from '../../simulator/wishes.js';

/** Rounds that broke a promise once, by what was wrong. Their courses change with the code. */
const ROUNDS: Readonly<Record<string, RoundPlan>> = {
  'what a policy did because of a request was taken for the effect of the request': {
    seed: 1_678_742_785,
    commands: 500,
    clients: 8,
    processes: 2,
    accounts: 3,
    program: 'redeemed at once',
    cacheBytes: 67_108_864,
    creditMax: 500,
    wishes: { ...WISH_WEIGHTS, code: 36, cancel: 0, forgetAccount: 0, adjust: 0 },
    faults: {
      'append lost': 100,
      'append unanswered': 80,
      'append repeated': 60,
      'append late': 100,
      'read lost': 300,
      'answers lost': 150,
      'answers unanswered': 100,
      'answers late': 100,
      'keys lost': 200,
      'keys unanswered': 100,
      'checkpoint lost': 50,
      'parked lost': 30,
      'jobs lost': 50,
      'jobs unanswered': 50,
      'notification lost': 20,
      'notification doubled': 20,
      'announcement lost': 20,
      'server away': 60,
      'server full': 60,
      'stream broken': 30,
    },
  },
};

it.each(Object.entries(ROUNDS))(
  '%s: the round breaks no promise any more',
  async (_, plan) => {
    expect((await runRound(plan)).violations).toEqual([]);
  },
  120_000,
);
