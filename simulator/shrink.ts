import type { RoundPlan } from './plan.js';
import { runRound, type RoundResult } from './round.js';

/** A plan that fails, and how. */
export interface Failing {
  readonly plan: RoundPlan;
  readonly result: RoundResult;
}

/** Smaller plans, the most telling first. */
function* smaller(plan: RoundPlan): Iterable<RoundPlan> {
  const { commands, clients, processes, accounts, faults, wishes } = plan;
  if (commands > 1) yield { ...plan, commands: Math.floor(commands / 2) };
  for (const fault of Object.keys(faults)) {
    const { [fault]: _, ...left } = faults;
    yield { ...plan, faults: left };
  }
  for (const [wish, weight] of Object.entries(wishes))
    if (weight > 0 && wish !== 'user') yield { ...plan, wishes: { ...wishes, [wish]: 0 } };
  if (clients > 1) yield { ...plan, clients: Math.floor(clients / 2) };
  if (clients > 1) yield { ...plan, clients: clients - 1 };
  if (plan.endpoints) yield { ...plan, endpoints: plan.endpoints - 1 };
  if (plan.closesMonths) yield { ...plan, closesMonths: false };
  if (plan.addition) yield { ...plan, addition: undefined };
  if (processes > 1) yield { ...plan, processes: processes - 1 };
  if (accounts > 2) yield { ...plan, accounts: accounts - 1 };
  if (commands > 10) yield { ...plan, commands: Math.floor((commands * 9) / 10) };
}

/**
 * The smallest plan found that still breaks a promise. Another plan is another course of events:
 * with the same seed only its beginning is alike.
 * @param triesMax rounds in all.
 */
export async function shrink(failing: Failing, triesMax = 200): Promise<Failing> {
  let smallest = failing;
  let tries = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const plan of smaller(smallest.plan)) {
      if ((tries += 1) > triesMax) return smallest;
      const result = await runRound(plan);
      if (result.violations.length === 0) continue;
      smallest = { plan, result };
      isSmaller = true;
      break;
    }
  }
  return smallest;
}
