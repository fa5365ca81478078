import type { LogLine } from '../../../simulator/connection.js';
import type { SeededRandom } from '../../../simulator/seeded-random.js';

/** The same random calls on a simulated and a real store get equal answers. */

export const MINUTE = 60_000;

export const SCOPES = [
  { tenant: 'acme', mode: 'live' },
  { tenant: 'acme', mode: 'test' },
  { tenant: 'zeta', mode: 'live' },
] as const;

/** Takes effect and answers immediately. */
export const line: LogLine = {
  read: async (_kind, _away, question) => question(),
  write: async (_kind, _away, change) => change(),
  notify: (_to, message) => message(),
  isBroken: () => false,
};

/** Makes random steps, and names the seed and the step at which both sides differ. */
export async function alike(
  random: SeededRandom,
  step: () => Promise<readonly [name: string, real: unknown, simulated: unknown]>,
  steps = 150,
): Promise<void> {
  for (let n = 0; n < steps; n++) {
    const [name, real, simulated] = await step();
    const at = { seed: random.seed, step: n, name };
    expect({ ...at, is: simulated }).toEqual({ ...at, is: real });
  }
}

export const inOrder = <T>(rows: Iterable<T>): readonly T[] =>
  [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
