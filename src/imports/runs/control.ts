import { exactSum } from '../../foundation/exact-sum.js';
import type { ControlFigures, ImportRow } from '../rows/import-rows.js';

/** Figures of a unit; a sum beyond 2^53-1 is a text. */
export interface ShownFigures {
  readonly rewards: number;
  readonly assigned: number | string;
  readonly redeemed: number | string;
  readonly available: number | string;
}

/** The file's figures of a unit, and the recorded ones of the same rows. */
export interface UnitControl {
  readonly unit: string;
  readonly file: ShownFigures;
  readonly ledger: ShownFigures;
}

type Sums = Record<keyof ShownFigures, bigint>;

const NONE: Sums = { rewards: 0n, assigned: 0n, redeemed: 0n, available: 0n };

/** Sums credit by unit, ignoring case. */
export class Control {
  private readonly units = new Map<string, { unit: string; file: Sums; ledger: Sums }>();

  /** Adds an accepted row of credit. */
  add(row: ImportRow, recorded: ControlFigures): void {
    const unit = recorded.unit.trim();
    const key = unit.toLowerCase();
    const sums = this.units.get(key) ?? { unit, file: { ...NONE }, ledger: { ...NONE } };
    this.units.set(key, sums);
    for (const [of, figures] of [
      [sums.file, figuresOf(row, recorded.at)],
      [sums.ledger, recorded],
    ] as const) {
      of.rewards += BigInt(figures.rewards);
      of.assigned += BigInt(figures.assigned);
      of.redeemed += BigInt(figures.redeemed);
      of.available += BigInt(figures.available);
    }
  }

  /** Sorted by unit. */
  shown(): readonly UnitControl[] {
    return [...this.units.values()]
      .map(({ unit, file, ledger }) => ({ unit, file: shownSums(file), ledger: shownSums(ledger) }))
      .sort((a, b) => (a.unit < b.unit ? -1 : 1));
  }
}

/** Whether the recorded figures equal the file's. */
export const isEqual = (control: readonly UnitControl[]): boolean =>
  control.every(({ file, ledger }) => JSON.stringify(file) === JSON.stringify(ledger));

function figuresOf(row: ImportRow, now: number): Omit<ControlFigures, 'unit' | 'at'> {
  const numbers = row as Readonly<Record<string, number | undefined>>;
  const { amount = 0, redeemed = 0, dateCancelled, dateScheduledFor, dateExpires } = numbers;
  const isSpendable =
    dateCancelled === undefined &&
    (dateScheduledFor ?? 0) <= now &&
    (dateExpires ?? Infinity) > now;
  return { rewards: 1, assigned: amount, redeemed, available: isSpendable ? amount - redeemed : 0 };
}

const shownSums = ({ rewards, assigned, redeemed, available }: Sums): ShownFigures => ({
  rewards: Number(rewards),
  assigned: exactSum(assigned),
  redeemed: exactSum(redeemed),
  available: exactSum(available),
});
