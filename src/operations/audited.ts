import type { Core } from '../core/core.js';
import type { Scope } from '../domain/scope.js';
import { recordDone, recordOperation, type Operation } from './audit.js';
import { NotDone, type Outcome } from './outcome.js';

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
 * Runs the work on open stores and records its audit event in the log; work that was not done
 * leaves none. The tenant is known to exist.
 */
export async function auditedOn<T>(
  core: Core,
  { scope, by, operation, warn }: AuditFrame,
  work: (core: Core) => Promise<Outcome<Done<T>>>,
): Promise<Outcome<T>> {
  const outcome = await work(core);
  if (outcome instanceof NotDone) return outcome;
  const { result, parameters, digest, stands } = outcome;
  const done = { operation, by, parameters, result: digest ?? result };
  if (stands === undefined) await recordOperation(core, scope, done);
  else await recordDone(core, scope, done, { stands, warn });
  return result;
}
