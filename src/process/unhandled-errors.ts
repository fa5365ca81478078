import type { Logger } from 'pino';
import { loggedError } from '../foundation/describe-error.js';

/**
 * Ends the process at an unhandled error, because its state is unknown. The log line omits the
 * message, which may quote values. A supervisor restarts the process.
 */
export function exitOnUnhandledErrors(logger: Pick<Logger, 'fatal'>): void {
  const endWith =
    (line: string) =>
    (error: unknown): void => {
      logger.fatal({ error: loggedError(error) }, line);
      process.exit(1);
    };
  process.on('uncaughtException', endWith('an exception that nothing caught ends the process'));
  process.on('unhandledRejection', endWith('a rejection that nothing handled ends the process'));
}
