import { createHash } from 'node:crypto';
import { nextPlan, type Scenario } from './plan.js';
import { runRound } from './round.js';
import { SeededRandom } from './seeded-random.js';
import { shrink, type Failing } from './shrink.js';

export interface RunOptions {
  readonly seed: number;
  readonly commands: number;
  /** Undefined: all in turn. */
  readonly scenario?: Scenario | undefined;
  readonly shrinks?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly commands: number;
  readonly accepted: number;
  readonly events: number;
  readonly rounds: number;
  readonly turns: number;
  readonly seconds: number;
  /** Of this process since it began, on all cores. */
  readonly processorSeconds: number;
  readonly faults: ReadonlyMap<string, number>;
}

export interface RunResult extends Progress {
  readonly digest: string;
  /** The first broken promises, and the smallest round that breaks any. */
  readonly failing: (Failing & { readonly commands: number }) | undefined;
}

/** Plays round after round, each in a world of its own, until one breaks a promise. */
export async function simulate(options: RunOptions): Promise<RunResult> {
  const { seed, commands, scenario } = options;
  const random = new SeededRandom(seed);
  const digest = createHash('sha256');
  const faults = new Map<string, number>();
  const sums = { commands: 0, accepted: 0, events: 0, rounds: 0, turns: 0 };
  const startedAt = process.hrtime.bigint();
  const progress = (): Progress => ({
    ...sums,
    seconds: Number(process.hrtime.bigint() - startedAt) / 1e9,
    processorSeconds: processorSeconds(),
    faults,
  });
  while (sums.commands < commands) {
    const plan = nextPlan(random, commands - sums.commands, scenario);
    const result = await runRound(plan);
    sums.commands += result.commands;
    sums.accepted += result.accepted;
    sums.events += result.events;
    sums.turns += result.turns;
    sums.rounds += 1;
    for (const [kind, count] of result.faults) faults.set(kind, (faults.get(kind) ?? 0) + count);
    digest.update(result.digest);
    if (result.violations.length > 0) {
      const failing = options.shrinks ? await shrink({ plan, result }) : { plan, result };
      return {
        ...progress(),
        digest: digest.digest('hex'),
        failing: { ...failing, commands: sums.commands },
      };
    }
    options.onProgress?.(progress());
  }
  return { ...progress(), digest: digest.digest('hex'), failing: undefined };
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
