/** A cell of a file; null: empty. Texts have no line breaks. */
export type Cell = string | number | Numeral | null;

/** A number in its own spelling. */
export interface Numeral {
  readonly numeral: string;
}

export const isNumeral = (cell: unknown): cell is Numeral =>
  typeof cell === 'object' && cell !== null && 'numeral' in cell;

/** Rows of a file, as they arrive. */
export interface SheetRows {
  /** Of the sheet. */
  readonly name: string;
  readonly headers: readonly string[];
  /** As many cells as headers. */
  readonly rows: AsyncIterable<readonly Cell[]>;
  /** At least so many cells have to be expected in all. */
  readonly cellsTotal: number;
}
