import { isUnavailable } from '../../postgres/database.js';
import { EventLogUnavailable } from '../event-log.js';

/** The same call may succeed when it is retried. */
export const isTransient = (error: unknown): boolean =>
  error instanceof EventLogUnavailable || isUnavailable(error);

/** The error in the terms of the port; other errors are passed on unchanged. */
export function asUnavailable(error: unknown): unknown {
  return isTransient(error)
    ? new EventLogUnavailable('the event log is away or does not answer', { cause: error })
    : error;
}
