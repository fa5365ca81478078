import type { Core } from '../core/core.js';
import type { Scope } from '../domain/scope.js';
import { checkAlias, parseMode } from './arguments.js';
import { recordDone, recordOperation, type Operation } from './audit.js';
import { CommandError } from './command-error.js';

/** @throws {CommandError} */
export function scopeOf(alias: string, mode: string): Scope {
  checkAlias(alias);
  return { tenant: alias, mode: parseMode(mode) };
}

/** What an operation came to, and what of it goes on record. */
export interface Done<T> extends Pick<Operation, 'parameters'> {
  readonly result: T;
  /** Where there is one already. */
  readonly digest?: string;
  /**
   * For work that cannot be taken back, or must be told whatever happens: what stands without its
   * audit event, in a few words.
   */
  readonly stands?: string;
}

/** Whose operation it is, on what, and as what it goes on record. */
export interface AuditFrame extends Pick<Operation, 'operation' | 'by'> {
  readonly scope: Scope;
  /** Is told, in one line, of work that stands and could not be put on record. */
  readonly warn: (line: string) => void;
}

/**
 * Runs the work on open stores and leaves its audit event in the log. The tenant is known to be
 * there.
 */
export async function auditedOn<T>(
  core: Core,
  { scope, by, operation, warn }: AuditFrame,
  work: (core: Core) => Promise<Done<T>>,
): Promise<T> {
  const { result, parameters, digest, stands } = await work(core);
  const done = { operation, by, parameters, result: digest ?? result };
  if (stands === undefined) await recordOperation(core, scope, done);
  else await recordDone(core, scope, done, { stands, warn });
  return result;
}

const TEXT_MAX = 1_000;

/** @throws {CommandError} for a text that is empty or too long. */
export function filled(option: string, text: string): string {
  if (text.trim() === '' || text.length > TEXT_MAX)
    throw new CommandError(`${option} must be 1 to ${TEXT_MAX} characters`);
  return text;
}
