/** Times of calls at several sizes, as a table. */

export interface Times {
  readonly p50: number;
  readonly p99: number;
}

export function timesOf(ms: readonly number[]): Times {
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** One line of the table: a figure for each size, in order. */
export interface Line {
  readonly name: string;
  readonly figures: readonly Times[];
  /** It may grow with the ledger. */
  readonly grows: boolean;
}

/** What costs more than so many times as much as at the smallest size is marked. */
export const FLAT_WITHIN = 1.5;

/** Of the medians, against the smallest size. */
export const ratiosOf = ({ figures }: Line): readonly number[] =>
  figures.slice(1).map(({ p50 }) => p50 / (figures[0]?.p50 ?? NaN));

export const isFlat = (line: Line): boolean =>
  line.grows || ratiosOf(line).every((ratio) => ratio <= FLAT_WITHIN);

const WIDTH = 52;

/** @param sizes the heads of the columns, smallest first. */
export function tableOf(sizes: readonly string[], lines: readonly Line[]): string {
  const heads = [
    ...sizes.map((size) => `${size} p50`.padStart(14) + 'p99'.padStart(9)),
    ...sizes.slice(1).map((size) => `${size}, times`.padStart(14)),
  ];
  const rows = lines.map((line) => {
    const figures = line.figures.map(
      ({ p50, p99 }) => p50.toFixed(2).padStart(14) + p99.toFixed(2).padStart(9),
    );
    const ratios = ratiosOf(line).map((ratio) => ratio.toFixed(2).padStart(14));
    const verdict = line.grows ? '  (a list of all)' : isFlat(line) ? '' : '  NOT FLAT';
    return line.name.padEnd(WIDTH) + figures.join('') + ratios.join('') + verdict;
  });
  return [''.padEnd(WIDTH) + heads.join(''), ...rows].join('\n');
}
