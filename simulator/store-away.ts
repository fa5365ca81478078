/** A simulated store did not answer, as an unavailable database does not. */
export class StoreAway extends Error {
  override readonly name = 'StoreAway';
  /** As of a broken connection (`isUnavailable`). */
  readonly code = 'ECONNRESET';
}
