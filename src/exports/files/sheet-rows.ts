/** A cell of a file; null: empty. Texts have no line breaks. */
export type Cell = string | number | Numeral | null;

/** A number in its original spelling. */
export interface Numeral {
  readonly numeral: string;
}

export const isNumeral = (cell: unknown): cell is Numeral =>
  typeof cell === 'object' && cell !== null && 'numeral' in cell;

/** A stream of rows with headers. */
export interface SheetRows {
  readonly name: string;
  readonly headers: readonly string[];
  /** With as many cells as headers. */
  readonly rows: AsyncIterable<readonly Cell[]>;
  /** Lower bound of the number of cells. */
  readonly cellsTotal: number;
}
