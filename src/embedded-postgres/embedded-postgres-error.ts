/** The embedded Postgres is not available; the message is one line with a remedy. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
