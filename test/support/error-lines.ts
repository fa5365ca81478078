import type { Logger } from '../../src/foundation/logger.js';

/** A logger that keeps its lines of level `error`, their fields and message in one object. */
export class ErrorLines implements Logger {
  readonly lines: Readonly<Record<string, unknown>>[] = [];

  info(): void {}
  warn(): void {}

  error(fields: object, message: string): void {
    this.lines.push({ ...fields, message });
  }
}
