/** A point of a line: epoch milliseconds and a figure. */
export interface Point {
  readonly at: number;
  readonly balance: number;
}

const WIDTH = 900;
const HEIGHT = 180;
const EDGE = 4;

/**
 * A stepped line as SVG, which needs no script, and what its edges are.
 * @param title what is plotted, for those who do not see it.
 * @returns null for fewer than two points: they make no line.
 */
export function plotView(title: string, points: readonly Point[]) {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 2) return null;
  const balances = points.map(({ balance }) => balance);
  const [lowest, highest] = [Math.min(...balances), Math.max(...balances)];
  return {
    path: stepPath(points, Math.min(0, lowest), Math.max(1, highest)),
    title,
    from: new Date(first.at).toISOString(),
    to: new Date(last.at).toISOString(),
    lowest,
    highest,
  };
}

function stepPath(points: readonly Point[], low: number, high: number): string {
  const [first, ...others] = points;
  if (first === undefined) return '';
  const span = Math.max(1, (others.at(-1)?.at ?? first.at) - first.at);
  const x = (at: number): number => EDGE + ((at - first.at) / span) * (WIDTH - 2 * EDGE);
  const y = (balance: number): number =>
    HEIGHT - EDGE - ((balance - low) / (high - low)) * (HEIGHT - 2 * EDGE);
  const steps = others.map(({ at, balance }) => `H${x(at).toFixed(1)}V${y(balance).toFixed(1)}`);
  return `M${x(first.at).toFixed(1)} ${y(first.balance).toFixed(1)}${steps.join('')}`;
}
