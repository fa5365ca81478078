import { isAlias } from '../../tenants/tenant-directory.js';
import type { Core } from '../../stores/core.js';
import type { Mode, Scope } from '../../domain/scope.js';
import type { Staff, StaffMeta } from '../../operations/audit.js';
import { auditedOn, type Done } from '../../operations/audited.js';
import type { Outcome } from '../../operations/outcome.js';
import { ApiError } from '../edge/api-error.js';
import type { OperationRuns, Run, RunContext } from './operation-runs.js';
import type { OperationsCore } from './operations-core.js';

/** An operation on the ledger of one tenant and mode, as an operator called it. */
export interface CalledOperation {
  /** The command's name on the command line: `ledger statement`. */
  readonly operation: string;
  readonly by: Staff;
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
    work: (core: Core, meta: StaffMeta) => Promise<Outcome<Done<T>>>,
  ): Promise<Outcome<T>> {
    const { core, warn } = this.operations;
    return auditedOn(core, { ...called, warn }, work);
  }

  /**
   * Starts an operation, recorded when it is done. Undefined: too many are not over yet.
   * @throws DatabaseUnavailable
   */
  start(
    by: Staff,
    scope: Scope,
    { operation, parameters, work }: LedgerRun,
  ): Promise<Run | undefined> {
    return this.runs.start({ operation, by: by.name, scope, parameters }, (context) =>
      this.outcome({ operation, by, scope }, (core) => work(core, context)),
    );
  }
}
