/** The embedded Postgres is not available; the message is one line that an operator can act on. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
