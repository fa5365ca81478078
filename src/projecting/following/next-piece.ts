/** Where the next piece of an erasure begins. */
export interface NextPiece {
  /** Which of the read model's lookups goes on. */
  readonly lookup: number;
  /**
   * Behind this row of it: the values of the columns that it goes along. Null: at its beginning.
   */
  readonly after: readonly unknown[] | null;
}
