import { errorCode } from './error-code.js';

/** The error's name, for log lines: messages of databases and libraries may quote values. */
export const errorName = (error: unknown): string =>
  error instanceof Error ? error.name : 'unknown error';

/** Name and code, e.g. `DatabaseError 57P01`. */
export const errorNameAndCode = (error: unknown): string =>
  [errorName(error), errorCode(error)].filter((part) => part !== undefined).join(' ');

/** The first line of the message, for an operator. */
export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message.split('\n')[0] : '') || 'unknown error';
