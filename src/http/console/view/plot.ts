/** A point of a line: epoch milliseconds and a figure. */
export interface Point {
  readonly at: number;
  readonly balance: number;
}

const WIDTH = 900;
const HEIGHT = 180;
const EDGE = 4;

/**
 * A stepped line as SVG, which needs no script.
 * @returns undefined for fewer than two points: they make no line.
 */
export function stepPath(points: readonly Point[]): string | undefined {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 2) return undefined;
  const span = Math.max(1, last.at - first.at);
  const balances = points.map(({ balance }) => balance);
  const [low, high] = [Math.min(0, ...balances), Math.max(1, ...balances)];
  const x = (at: number): number => EDGE + ((at - first.at) / span) * (WIDTH - 2 * EDGE);
  const y = (balance: number): number =>
    HEIGHT - EDGE - ((balance - low) / (high - low)) * (HEIGHT - 2 * EDGE);
  const steps = points
    .slice(1)
    .map(({ at, balance }) => `H${x(at).toFixed(1)}V${y(balance).toFixed(1)}`);
  return `M${x(first.at).toFixed(1)} ${y(first.balance).toFixed(1)}${steps.join('')}`;
}

export const PLOT_BOX = `0 0 ${WIDTH} ${HEIGHT}`;
