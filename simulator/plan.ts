import type { FaultRates } from './faults.js';
import type { SeededRandom } from './seeded-random.js';

/** What a round is made of. Everything else follows from its seed. */
export interface RoundPlan {
  readonly seed: number;
  /** Requests that clients send, repetitions included. */
  readonly commands: number;
  readonly clients: number;
  readonly processes: number;
  /** Few, so that requests collide. */
  readonly accounts: number;
  readonly faults: FaultRates;
}

/** Of every so many calls one is met by the fault; of processes: of every so many looks of fate. */
const STORES: FaultRates = {
  'append lost': 60,
  'append unanswered': 60,
  'append repeated': 40,
  'append late': 80,
  'read lost': 150,
  'answers lost': 80,
  'answers unanswered': 80,
  'answers late': 80,
  'keys lost': 150,
  'keys unanswered': 80,
  'checkpoint lost': 50,
  'parked lost': 30,
  'jobs lost': 50,
  'jobs unanswered': 50,
  'notification lost': 20,
  'notification doubled': 20,
  'announcement lost': 20,
};
const PROCESSES: FaultRates = {
  'process killed': 20,
  'process frozen': 40,
  'locks lost': 100,
  'connection of the locks cut': 30,
  'a cache purged': 20,
};
const TIME: FaultRates = {
  'clock set back': 40,
  'clock set forward': 60,
  'kept answers purged': 20,
};

/** What goes wrong in a round, by name. */
export const SCENARIOS = {
  calm: {},
  stores: STORES,
  processes: PROCESSES,
  time: TIME,
  everything: { ...STORES, ...PROCESSES, ...TIME },
} as const satisfies Readonly<Record<string, FaultRates>>;
export type Scenario = keyof typeof SCENARIOS;

export const isScenario = (name: string): name is Scenario => Object.hasOwn(SCENARIOS, name);

const WEIGHTS = { calm: 1, stores: 2, processes: 2, time: 1, everything: 4 } as const;

/** The next round of a run. @param scenario undefined: any of them. */
export function nextPlan(
  random: SeededRandom,
  commands: number,
  scenario: Scenario | undefined,
): RoundPlan {
  const seed = random.below(2 ** 31);
  return {
    seed,
    commands,
    clients: 1 + random.below(random.onceIn(3) ? 64 : 12),
    processes: 1 + random.below(3),
    accounts: 2 + random.below(10),
    faults: SCENARIOS[scenario ?? random.weighted<Scenario>(WEIGHTS)],
  };
}
