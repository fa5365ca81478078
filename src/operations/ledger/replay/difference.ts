/** A value that differs between a read model and the ledger. */
export interface Difference {
  /** The client's id; `anonymous` when it is forgotten. */
  readonly account: string;
  readonly readModel: string;
  /** `<table>/<key>.<column>`; without a column: the row as a whole. */
  readonly field: string;
  readonly ledger: unknown;
  readonly live: unknown;
  /** The events that the ledger's value follows from. */
  readonly eventIds: readonly string[];
}
