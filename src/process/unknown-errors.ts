import type { Logger } from 'pino';
import { loggedError } from '../foundation/describe-error.js';

/**
 * An error that no part handled: the state of the process is unknown, so it ends, with one line and
 * without the error's message, which may quote values. Acknowledged writes are in the log, and a
 * supervisor starts the process again.
 */
export function endAtUnknownErrors(logger: Pick<Logger, 'fatal'>): void {
  const endWith =
    (line: string) =>
    (error: unknown): void => {
      logger.fatal({ error: loggedError(error) }, line);
      process.exit(1);
    };
  process.on('uncaughtException', endWith('an exception that nothing caught ends the process'));
  process.on('unhandledRejection', endWith('a rejection that nothing handled ends the process'));
}
