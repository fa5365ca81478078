/** The start of the next piece of an erasure. */
export interface NextPiece {
  /** The lookup that continues. */
  readonly lookup: number;
  /** After this row of it, by the values of the ordering columns. Null: from its beginning. */
  readonly after: readonly unknown[] | null;
}
