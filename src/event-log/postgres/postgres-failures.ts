import { isUnavailable } from '../../postgres/database.js';
import { EventLogUnavailable } from '../event-log.js';

/** The same call may succeed when it is retried. */
export const isTransient = (error: unknown): boolean =>
  error instanceof EventLogUnavailable || isUnavailable(error);

/** Converts to errors of the port; other errors pass unchanged. */
export function asUnavailable(error: unknown): unknown {
  return isTransient(error)
    ? new EventLogUnavailable('the event log is unavailable or does not answer', { cause: error })
    : error;
}
