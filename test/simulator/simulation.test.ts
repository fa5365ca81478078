import { nextPlan, SCENARIOS, type Scenario } from '../../simulator/plan.js';
import { runRound } from '../../simulator/round.js';
import { simulate } from '../../simulator/run.js';
import { SeededRandom } from '../../simulator/seeded-random.js';
import { SimulatedKeyRows } from '../../simulator/simulated-keys.js';
import { SimulatedStore } from '../../simulator/simulated-store.js';
import { WISH_WEIGHTS } from '../../simulator/wishes.js';
import { newSeed } from '../support/new-seed.js';

/** The long form is `npm run simulate`; docs/simulator.md says how to read a failure. */

const COMMANDS = 300;

it.each(Object.keys(SCENARIOS) as Scenario[])(
  'every promise holds in the scenario %s',
  async (scenario) => {
    const { failing } = await simulate({ seed: 2_026, commands: COMMANDS, scenario });
    expect(failing?.result.violations).toBeUndefined();
  },
  120_000,
);

it('every promise holds under a seed that no run had before', async () => {
  const seed = newSeed('the simulator');
  const { failing } = await simulate({ seed, commands: 2 * COMMANDS });
  expect(failing && { plan: JSON.stringify(failing.plan), ...failing.result }).toBeUndefined();
}, 120_000);

it('the same seed is the same course of events', async () => {
  const run = () => simulate({ seed: 5, commands: COMMANDS, scenario: 'everything' });
  const [first, second] = [await run(), await run()];
  expect(first.digest).toBe(second.digest);
  expect([...first.faults]).toEqual([...second.faults]);
  expect((await simulate({ seed: 6, commands: COMMANDS })).digest).not.toBe(first.digest);
}, 120_000);

it('a round covers the cases of its scenario', async () => {
  const { accepted, events, faults } = await simulate({
    seed: 5,
    commands: 1_600,
    scenario: 'everything',
  });
  expect(accepted).toBeGreaterThan(200);
  expect(events).toBeGreaterThan(200);
  for (const fault of ['append lost', 'append unanswered', 'answers late', 'process killed'])
    expect([fault, (faults.get(fault) ?? 0) > 0]).toEqual([fault, true]);
}, 120_000);

it('an older release answers 503 for accounts that it cannot read, and serves the others', async () => {
  const plan = nextPlan(new SeededRandom(5), COMMANDS, 'calm');
  const wishes = { ...WISH_WEIGHTS, block: 20 };
  const two = { ...plan, processes: 2, accounts: 6, wishes };
  const { violations, faults, accepted } = await runRound({ ...two, addition: 'block' });
  expect(violations).toEqual([]);
  expect(faults.get('account of a newer release')).toBeGreaterThan(0);
  expect(accepted).toBeGreaterThan(COMMANDS / 4);
}, 120_000);

/** Ports that do something wrong, as an adapter with a mistake would. */
const FAULTS: Readonly<Record<string, () => { mockRestore(): void }>> = {
  'keys that are not destroyed': () =>
    jest.spyOn(SimulatedKeyRows.prototype, 'destroy').mockResolvedValue(undefined),
  'an append at a revision that the stream has passed': () => {
    const append = SimulatedStore.prototype.append;
    return jest.spyOn(SimulatedStore.prototype, 'append').mockImplementation(function (
      this: SimulatedStore,
      stream,
      _expected,
      events,
    ) {
      const actual = this.stream(stream).at(-1)?.revision ?? 'no-stream';
      return append.call(this, stream, actual, events, undefined);
    });
  },
};

it.each(Object.keys(FAULTS))(
  'the simulator finds %s',
  async (fault) => {
    const broken = FAULTS[fault]?.();
    try {
      const { failing } = await simulate({ seed: 7, commands: 4_000, scenario: 'stores' });
      expect(failing?.result.violations).not.toHaveLength(0);
      expect(failing).toBeDefined();
    } finally {
      broken?.mockRestore();
    }
  },
  120_000,
);
