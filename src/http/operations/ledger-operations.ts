import { isAlias } from '../../tenants/tenant-directory.js';
import type { Core } from '../../stores/core.js';
import type { Mode, Scope } from '../../domain/scope.js';
import { auditedOn, type AuditFrame, type Done } from '../../operations/audited.js';
import type { Outcome } from '../../operations/outcome.js';
import { ApiError } from '../edge/api-error.js';
import type { OperatorCall } from '../credentials/call.js';
import type { OperationRuns, Run, RunContext } from './operation-runs.js';
import type { OperationsCore } from './operations-core.js';

/** An operation on the ledger of one tenant and mode, as an operator called it. */
export interface CalledOperation {
  /** The command's name on the command line: `ledger statement`. */
  readonly operation: string;
  readonly call: Pick<OperatorCall, 'operator'>;
  readonly scope: Scope;
}

/** An operation on a tenant's ledger that may take long, the same over HTTP and in the console. */
export interface LedgerRun {
  /** The command's name on the command line: `ledger replay`. */
  readonly operation: string;
  /** Shown with the run: its arguments, without files. */
  readonly parameters: object;
  readonly work: (core: Core, context: RunContext) => Promise<Outcome<Done<unknown>>>;
}

/** Runs operations on a tenant's ledger, each with its audit event. */
export class LedgerOperations {
  constructor(
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  /** @throws {ApiError} TENANT_NOT_FOUND. */
  async scopeOf(tenant: string, mode: Mode): Promise<Scope> {
    if (!isAlias(tenant) || (await this.operations.core.tenants.find(tenant)) === undefined)
      throw new ApiError('TENANT_NOT_FOUND');
    return { tenant, mode };
  }

  /** Runs and records an operation; a refusal is a value. */
  outcome<T>(
    called: CalledOperation,
    work: (core: Core) => Promise<Outcome<Done<T>>>,
  ): Promise<Outcome<T>> {
    return auditedOn(this.operations.core, this.frame(called), work);
  }

  /**
   * Starts an operation, recorded when it is done. Undefined: too many are not over yet.
   * @throws DatabaseUnavailable
   */
  start(
    call: CalledOperation['call'],
    scope: Scope,
    { operation, parameters, work }: LedgerRun,
  ): Promise<Run | undefined> {
    return this.runs.start({ operation, by: call.operator.name, scope, parameters }, (context) =>
      this.outcome({ operation, call, scope }, (core) => work(core, context)),
    );
  }

  private frame({ operation, call, scope }: CalledOperation): AuditFrame {
    return { scope, by: call.operator.name, operation, warn: this.operations.warn };
  }
}
