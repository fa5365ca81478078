import type { Core } from '../stores/core.js';
import type { Scope } from '../domain/scope.js';
import {
  operatorMeta,
  recordDone,
  recordOperation,
  type Operation,
  type StaffMeta,
} from './audit.js';
import { LogAheadOfClock } from '../event-log/clock.js';
import { firstLine } from '../foundation/describe-error.js';

/** The result of an operation, and what its audit event contains. */
export interface Done<T> extends Pick<Operation, 'parameters' | 'reason'> {
  readonly result: T;
  /** The digest of the result, when it exists already. */
  readonly digest?: string;
  /**
   * For work that cannot be undone, or must be reported in any case: what is done even without the
   * audit event, in a few words.
   */
  readonly completed?: string;
}

/** The scope, operator and name that the audit event records. */
export interface AuditFrame extends Pick<Operation, 'operation' | 'by'> {
  readonly scope: Scope;
  /** Called, with one line, for finished work that could not be recorded. */
  readonly warn: (line: string) => void;
}

/**
 * Runs the work on open stores and records its audit event in the log; refused work has none. The
 * tenant must exist.
 * @param work takes the metadata of the operator's command, of which it executes at most one.
 */
export async function auditedOn<T>(
  core: Core,
  { scope, by, operation, warn }: AuditFrame,
  work: (core: Core, meta: StaffMeta) => Promise<Done<T>>,
): Promise<T> {
  const outcome = await work(core, operatorMeta(core, scope, by, operation));
  const { result, parameters, digest, completed, reason } = outcome;
  const done = { operation, by, parameters, result: digest ?? result, reason };
  if (completed !== undefined) await recordDone(core, scope, done, { completed, warn });
  else
    await recordOperation(core, scope, done).catch((error: unknown) => {
      // Reads continue while the log is ahead of the clock: statements and checks are needed most
      // then. After any other failure nothing is shown.
      if (!(error instanceof LogAheadOfClock)) throw error;
      warn(`${operation} has no audit entry: ${firstLine(error)}`);
    });
  return result;
}
