import { EventLogUnavailable } from '../event-log/event-log.js';
import { UnreadableEvent } from '../event-log/event-schemas.js';
import { errorCode } from '../foundation/error-code.js';

/** A policy's command was refused with this code and had no effect. */
export class ReactionRefused extends Error {
  override readonly name = 'ReactionRefused';
}

/** Only messages of this code are shown: those of the database may quote values. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const code = errorCode(error) ?? errorCode(error.cause);
  const isOurs = [UnreadableEvent, EventLogUnavailable, ReactionRefused].some(
    (kind) => error instanceof kind,
  );
  return `${error.name}${code === undefined ? '' : ` ${code}`}${isOurs ? `: ${error.message}` : ''}`;
}
