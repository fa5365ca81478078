import type { FaultRates } from '../../simulator/faults.js';
import { SCENARIOS, type RoundPlan } from '../../simulator/plan.js';
import { runRound } from '../../simulator/round.js';
import { simulate } from '../../simulator/run.js';

/** The long form is `npm run simulate`; docs/adr/0033 says what it is. */

const COMMANDS = 4_000;

const without = (faults: FaultRates, ...names: readonly string[]): FaultRates =>
  Object.fromEntries(Object.entries(faults).filter(([name]) => !names.includes(name)));

/** Rounds in which a promise was broken once. */
const FOUND: readonly (readonly [found: string, plan: RoundPlan])[] = [
  [
    'two moderations that held each other’s accounts waited for ever',
    {
      seed: 551_078_652,
      commands: 225,
      clients: 6,
      processes: 2,
      accounts: 7,
      faults: without(SCENARIOS.everything, 'keys unanswered'),
    },
  ],
];

it('every promise holds in a world that nobody has seen before', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { failing } = await simulate({ seed, commands: COMMANDS });
  expect({ seed, plan: failing?.plan, violations: failing?.result.violations }).toEqual({
    seed,
    plan: undefined,
    violations: undefined,
  });
}, 120_000);

it('the same seed is the same course of events', async () => {
  const run = () => simulate({ seed: 5, commands: 1_000, scenario: 'everything' });
  const [first, second] = [await run(), await run()];
  expect(first.digest).toBe(second.digest);
  expect([...first.faults]).toEqual([...second.faults]);
  expect((await simulate({ seed: 6, commands: 1_000 })).digest).not.toBe(first.digest);
}, 60_000);

it.each(FOUND)('it no longer happens that %s', async (_found, plan) => {
  expect((await runRound(plan)).violations).toEqual([]);
});

it('a round goes through what it is meant to go through', async () => {
  const { accepted, events, faults } = await simulate({
    seed: 5,
    commands: 2_000,
    scenario: 'everything',
  });
  expect(accepted).toBeGreaterThan(400);
  expect(events).toBeGreaterThan(400);
  for (const fault of ['append lost', 'append unanswered', 'answers late', 'process killed'])
    expect([fault, faults.get(fault) ?? 0]).toEqual([fault, expect.any(Number)]);
}, 60_000);
