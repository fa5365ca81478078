import type { Staff } from '../../operations/audit.js';
import { onProjections } from '../../operations/projections/projection-operator.js';
import type { ProjectionRun } from '../../operations/projections/projection-runs.js';
import type { OperationRuns, Run } from './operation-runs.js';
import type { OperationsCore } from './operations-core.js';

/** Undefined: too many runs are not over yet. @throws DatabaseUnavailable */
export function startProjectionRun(
  runs: OperationRuns,
  { core, pool, warn }: Pick<OperationsCore, 'core' | 'pool' | 'warn'>,
  by: Staff,
  { work, ...asked }: ProjectionRun,
): Promise<Run | undefined> {
  return runs.start({ ...asked, by: by.name }, (context) =>
    onProjections(core, pool, { by, signal: context.signal, warn }, (projections) =>
      work(projections, context),
    ),
  );
}
