import type { Mode } from '../src/domain/scope.js';
import type { FaultRates } from './faults.js';
import { BILLED_PROGRAM_NAMES, PROGRAM_NAMES, type ProgramName } from './programs.js';
import type { AdditionName } from './releases.js';
import type { SeededRandom } from './seeded-random.js';
import { UPGRADED, WISH_WEIGHTS, type WishWeights } from './wishes.js';

/** What a round is made of. Everything else follows from its seed. */
export interface RoundPlan {
  readonly seed: number;
  /** Requests that clients send, repetitions included. */
  readonly commands: number;
  readonly clients: number;
  readonly processes: number;
  /** Few, so that requests collide. */
  readonly accounts: number;
  readonly program: ProgramName;
  /** Of each process, for the streams that it remembers: a small one forgets all the time. */
  readonly cacheBytes: number;
  /** Of a reward that a client gives: small ones become many. */
  readonly creditMax: number;
  /** How often clients wish for each kind of request. */
  readonly wishes: WishWeights;
  readonly faults: FaultRates;
  /** Of webhooks, that come and go; undefined: none. */
  readonly endpoints?: number;
  /** Undefined: live. */
  readonly mode?: Mode;
  /** It begins before the end of a month, and finance closes what is over. Undefined: no. */
  readonly closesMonths?: boolean;
  /**
   * Clients notice immediately that a process died, and work of the clock comes in shorter turns:
   * more requests in the time. Undefined: clients wait, and much else happens meanwhile.
   */
  readonly isHurried?: boolean;
  /**
   * What the newer of two releases records, and the older one, of which one process is for a while,
   * cannot read. Undefined: all processes are of one release.
   */
  readonly addition?: AdditionName | undefined;
}

/** Of every so many calls one is met by the fault; of processes: of every so many looks of fate. */
const STORES: FaultRates = {
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
  'checkpoint unanswered': 50,
  'checkpoint late': 50,
  'parked lost': 30,
  'parked unanswered': 30,
  'rows lost': 100,
  'rows unanswered': 50,
  'rows late': 50,
  'seals lost': 30,
  'seals unanswered': 30,
  'seals late': 30,
  'webhooks lost': 60,
  'webhooks unanswered': 50,
  'webhooks late': 50,
  'jobs lost': 50,
  'jobs unanswered': 50,
  'notification lost': 20,
  'notification doubled': 20,
  'announcement lost': 20,
  'server away': 60,
  'server full': 60,
  'streams broken': 10,
};
const PROCESSES: FaultRates = {
  'process killed': 40,
  'process killed at a change': 150,
  'process frozen': 40,
  'locks lost': 100,
  'connection of the locks cut': 30,
  'a cache purged': 20,
};
const TIME: FaultRates = {
  'clock set back': 40,
  'clock set forward': 60,
  'clock ahead for a moment': 60,
  'old answers purged': 20,
  'all answers purged': 40,
};

/** Whatever a process has begun, another one finishes. */
const DEATHS: FaultRates = {
  'process killed': 20,
  'process killed at a change': 30,
};

const LOSSES: FaultRates = { "the log's end lost": 6 };

/** Of a payment provider, and of what is kept of it. */
const PAYMENTS: FaultRates = {
  'provider lost': 12,
  'provider unanswered': 8,
  'provider late': 20,
  'provider busy': 12,
  'provider failed': 20,
  'provider keeps failing': 30,
  'provider rubbish': 20,
  'provider away': 20,
  'payments lost': 50,
  'payments unanswered': 50,
  'payments late': 50,
};

/** What goes wrong in a round, by name. */
export const SCENARIOS = {
  calm: {},
  stores: STORES,
  processes: PROCESSES,
  deaths: DEATHS,
  time: TIME,
  losses: LOSSES,
  everything: { ...STORES, ...PROCESSES, ...TIME },
  'everything and losses': { ...STORES, ...PROCESSES, ...TIME, ...LOSSES },
  'two releases and losses': { ...STORES, ...PROCESSES, ...TIME, ...LOSSES },
  payments: { ...STORES, ...PROCESSES, ...TIME, ...PAYMENTS },
  'payments and losses': { ...STORES, ...PROCESSES, ...TIME, ...PAYMENTS, ...LOSSES },
} as const satisfies Readonly<Record<string, FaultRates>>;
export type Scenario = keyof typeof SCENARIOS;

export const isScenario = (name: string): name is Scenario => Object.hasOwn(SCENARIOS, name);

const WEIGHTS = {
  calm: 1,
  stores: 2,
  processes: 2,
  deaths: 2,
  time: 1,
  losses: 1,
  everything: 4,
  'everything and losses': 1,
  'two releases and losses': 1,
  payments: 1,
  'payments and losses': 0,
} as const;

const COMMANDS = 500;
const SMALL_CACHE = 64 * 1024;
const LARGE_CACHE = 64 * 1024 * 1024;
/** Some rounds go on for longer than a queue or a page is long, on few accounts. */
const LONG_ROUND = { once: 25, commands: 2_500, accounts: 2 };
/** Small rewards of one account pile up, until an amount of it takes very many of them. */
const MANY_ONCE_IN = 15;
const MANY_REWARDS: WishWeights = {
  ...WISH_WEIGHTS,
  reward: 300,
  redeem: 1,
  redeemAll: 6,
  forgetUser: 0,
  forgetAccount: 0,
};
/** Moderations of the same few referrals, whose rewards are redeemed meanwhile. */
const STORM_ONCE_IN = 12;
const MONTH_ENDS_ONCE_IN = 5;
const UPGRADES_ONCE_IN = 4;
const UNHURRIED_ONCE_IN = 8;
/** Policies and webhooks have more to do with rewards than with the others. */
const ADDITIONS = { reward: 4, events: 1, block: 1 } as const satisfies Record<
  AdditionName,
  number
>;
const MODERATIONS: WishWeights = {
  ...WISH_WEIGHTS,
  code: 24,
  reward: 0,
  redeem: 40,
  cancel: 0,
  moderate: 60,
};

/** `accountsync` is refused there. Referrals, and customers that accounts get. */
const BILLED: WishWeights = {
  ...WISH_WEIGHTS,
  sync: 0,
  user: 40,
  code: 20,
  discount: 8,
  reward: 3,
};

/**
 * The next round of a run. Each leaves out some kinds of requests and prefers others: what goes
 * wrong only among many of a kind is not found among some of each.
 * @param left requests until the end of the run. @param scenario undefined: any of them.
 */
export function nextPlan(
  random: SeededRandom,
  left: number,
  scenario: Scenario | undefined,
): RoundPlan {
  const seed = random.below(2 ** 31);
  const drawn = scenario ?? random.weighted<Scenario>(WEIGHTS);
  if (drawn.startsWith('payments')) return billedPlan(random, { seed, left, scenario: drawn });
  const plan = ledgerPlan(random, { seed, left, scenario: drawn });
  const isUpgrade = drawn.startsWith('two releases') || random.onceIn(UPGRADES_ONCE_IN);
  return plan.commands <= COMMANDS && isUpgrade
    ? upgraded(plan, random.weighted(ADDITIONS), random)
    : plan;
}

interface Drawn {
  readonly seed: number;
  readonly left: number;
  readonly scenario: Scenario;
}

/** Accounts of a tenant that posts all by itself. */
function ledgerPlan(random: SeededRandom, { seed, left, scenario }: Drawn): RoundPlan {
  const isLong = left >= LONG_ROUND.commands && random.onceIn(LONG_ROUND.once);
  const isMany = !isLong && random.onceIn(MANY_ONCE_IN);
  const isStorm = !isLong && !isMany && random.onceIn(STORM_ONCE_IN);
  return {
    seed,
    commands: isLong ? LONG_ROUND.commands : Math.min(left, COMMANDS),
    clients: 1 + random.below(random.onceIn(3) ? 64 : 12),
    processes: isLong ? 1 : 1 + random.below(3),
    accounts: isLong ? LONG_ROUND.accounts : isMany ? 1 : someAccounts(random, isStorm),
    program: random.oneOf(PROGRAM_NAMES),
    cacheBytes: isLong || !random.onceIn(3) ? LARGE_CACHE : SMALL_CACHE,
    creditMax: isMany ? 3 : random.oneOf([3, 500, 500]),
    wishes: isMany ? MANY_REWARDS : isStorm ? MODERATIONS : someWishes(random),
    endpoints: random.below(3),
    mode: random.onceIn(4) ? 'test' : 'live',
    closesMonths: random.onceIn(MONTH_ENDS_ONCE_IN),
    isHurried: !random.onceIn(UNHURRIED_ONCE_IN),
    faults: SCENARIOS[scenario],
  };
}

/**
 * One process is of an older release. The newer one records the addition, which endpoints and
 * policies have to do with.
 */
function upgraded(plan: RoundPlan, addition: AdditionName, random: SeededRandom): RoundPlan {
  const wishes: Record<string, number> = {};
  for (const kind of UPGRADED[addition])
    wishes[kind] = Math.max(plan.wishes[kind], WISH_WEIGHTS[kind]);
  return {
    ...plan,
    addition,
    processes: 2 + random.below(2),
    endpoints: 1 + random.below(2),
    wishes: { ...plan.wishes, ...wishes },
  };
}

/** Accounts of a tenant whose payment provider converts and pays. */
function billedPlan(random: SeededRandom, of: Drawn): RoundPlan {
  return {
    seed: of.seed,
    commands: Math.min(of.left, COMMANDS),
    clients: 3 + random.below(10),
    processes: 1 + random.below(3),
    accounts: 3 + random.below(random.oneOf([5, 20])),
    program: random.oneOf(BILLED_PROGRAM_NAMES),
    cacheBytes: random.onceIn(3) ? SMALL_CACHE : LARGE_CACHE,
    creditMax: 500,
    wishes: {
      ...BILLED,
      moderate: random.below(8),
      forgetUser: random.oneOf([2, 2, 10]),
      forgetAccount: random.oneOf([1, 6, 12]),
    },
    endpoints: random.below(2),
    mode: random.onceIn(4) ? 'test' : 'live',
    faults: SCENARIOS[of.scenario],
  };
}

/** An account is referred once: many of them are many referrals. */
const someAccounts = (random: SeededRandom, isStorm: boolean): number =>
  2 + random.below(isStorm ? 3 : random.oneOf([10, 10, 20, 40]));

const someWishes = (random: SeededRandom): WishWeights =>
  random.onceIn(3) ? WISH_WEIGHTS : preferring(random);

/** Without a user nothing happens: that wish stays. */
function preferring(random: SeededRandom): WishWeights {
  const weights: Record<string, number> = {};
  for (const [kind, weight] of Object.entries(WISH_WEIGHTS))
    weights[kind] = weight * random.oneOf([0, 1, 1, 6]);
  const importReward = random.oneOf([0, 0, 20]);
  return { ...WISH_WEIGHTS, ...weights, user: WISH_WEIGHTS.user, importReward };
}
