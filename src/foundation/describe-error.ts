import { types } from 'node:util';
import { errorCode } from './error-code.js';

/** For log lines: the name without the message, which may quote values. */
export const errorName = (error: unknown): string =>
  error instanceof Error ? error.name : 'unknown error';

/** Name and code, e.g. `DatabaseError 57P01`. */
export const errorNameAndCode = (error: unknown): string =>
  [errorName(error), errorCode(error)].filter((part) => part !== undefined).join(' ');

/** For operators: the first line of the message. */
export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message.split('\n')[0] : '') || 'unknown error';

/** For log lines: kind and origin without the message, which may quote the client's text. */
interface LoggedError {
  readonly name: string;
  readonly code?: string;
  readonly frames: readonly string[];
  readonly cause?: LoggedError;
}

/** Includes errors of other realms, such as Node's own inside a vm context. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || types.isNativeError(value);

export function loggedError(error: unknown): LoggedError {
  if (!isError(error)) return { name: typeof error, frames: [] };
  const code = errorCode(error);
  const lines = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    name: error.name,
    ...(code !== undefined && /^\w{1,64}$/.test(code) ? { code } : {}),
    frames: lines.slice(0, 10).map((line) => line.trim()),
    ...(isError(error.cause) ? { cause: loggedError(error.cause) } : {}),
  };
}
