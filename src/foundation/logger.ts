/** The log of a part of the service; a pino logger fits. Never personal data or secrets. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
