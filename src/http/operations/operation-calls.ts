import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { Staff } from '../../operations/audit.js';
import { outcomeOf, type Outcome } from '../../operations/outcome.js';
import {
  type OperationContext,
  type PaymentWorld,
  scopeIn,
  scopeOf,
} from '../../operations/registry/context.js';
import { type Operation, shownParameters } from '../../operations/registry/operation.js';
import type { RunRequest, OperationRuns, Run, RunContext } from './operation-runs.js';
import type { OperationsCore } from './operations-core.js';
import { done } from './refusals.js';

export interface OperationCaller {
  readonly by: Staff;
  readonly key?: string | undefined;
  /** Called for the result of an earlier call. */
  readonly onReplayed?: () => void;
}

/** See `RunRequest`. */
export type RunOfCall = Pick<RunRequest, 'id' | 'continues'>;

/** Runs operations of the registry with validated requests, over HTTP and in the console. */
export class OperationCalls {
  constructor(
    private readonly operations: OperationsCore,
    readonly runs: OperationRuns,
    readonly payments: PaymentWorld,
  ) {}

  tenant(alias: string): Promise<OpenTenant | undefined> {
    return this.operations.core.tenants.find(alias);
  }

  run(operation: Operation, request: object, caller: OperationCaller): Promise<Outcome<unknown>> {
    return operation.run(this.contextOf(caller, WAITED_FOR), request);
  }

  /**
   * Undefined: too many runs are running.
   * @throws {ApiError} TENANT_NOT_FOUND. @throws DatabaseUnavailable
   */
  async start(
    operation: Operation,
    request: object,
    caller: OperationCaller,
    run: RunOfCall = {},
  ): Promise<Run | undefined> {
    const scope = scopeIn(request);
    if (scope !== undefined) done(await outcomeOf(() => scopeOf(this.operations.core, scope)));
    const parameters = shownParameters(operation, request);
    const asked = {
      operation: operation.name,
      by: caller.by.name,
      parameters,
      ...run,
      ...(scope && { scope }),
    };
    return this.runs.start(asked, (running) =>
      operation.run(this.contextOf(caller, running), request),
    );
  }

  private contextOf({ by, key, onReplayed }: OperationCaller, running: RunContext) {
    const { core, pool, warn, answers, operators } = this.operations;
    const replayed = onReplayed ?? (() => undefined);
    return {
      ...running,
      core,
      operationsPool: () => pool,
      payments: this.payments,
      by,
      operators,
      note: () => undefined,
      warn,
      write: () => Promise.resolve(),
      onReplayed: replayed,
      keyed: key === undefined ? undefined : { key, answers, onReplayed: replayed },
    } satisfies OperationContext;
  }
}

/** For work whose caller waits. */
const WAITED_FOR: RunContext = {
  signal: new AbortController().signal,
  onProgress: () => undefined,
  pauseForRequests: () => Promise.resolve(),
};
