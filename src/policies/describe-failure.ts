import { UnreadableEvent } from '../event-log/event-schemas.js';

/** A command of a policy was refused, with this code: nothing that it was sent for has happened. */
export class ReactionRefused extends Error {
  override readonly name = 'ReactionRefused';
}

/** Name and code; the message where it is our own. Messages of the database may quote values. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error instanceof UnreadableEvent || error instanceof ReactionRefused) return `${error.name}: ${error.message}`;
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return `${error.name}${code}`;
}
