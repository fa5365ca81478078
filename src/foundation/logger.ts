/**
 * What a part of the service says of itself; a pino logger fits. Never personal data, never a
 * secret.
 */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
