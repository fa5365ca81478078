import type { Outcome } from '../../operations/outcome.js';
import {
  diffProjection,
  planRebuild,
  rebuildProjections,
  rollBackProjection,
  swapProjections,
} from '../../operations/projections/projection-commands.js';
import {
  onChosen,
  onNamed,
  onProjections,
  type ProjectionChoice,
  type ProjectionOperator,
} from '../../operations/projections/projection-operator.js';
import {
  repairProjections,
  retryParked,
  type RepairTarget,
} from '../../operations/projections/projection-repairs.js';
import {
  skipParkedEvent,
  type SkipRequest,
} from '../../operations/projections/projection-skips.js';
import type { RebuildProgress } from '../../projecting/generations/rebuild.js';
import type { SeenGenerations } from '../../projecting/generations/switch-generations.js';
import type { AskedRun, OperationRuns, Run, RunContext } from './operation-runs.js';
import type { OperationsCore } from './operations-core.js';

/** An operation on read models, the same over HTTP and in the console. */
export interface ProjectionRun extends Pick<AskedRun, 'operation' | 'scope'> {
  readonly parameters: object;
  readonly work: (
    projections: ProjectionOperator,
    context: RunContext,
  ) => Promise<Outcome<unknown>>;
}

/** New generations beside the live ones; `isDryRun`: only what that would be. */
export const rebuildRun = (
  choice: ProjectionChoice,
  { isDryRun = false, resume = false }: { readonly isDryRun?: boolean; readonly resume?: boolean },
): ProjectionRun => ({
  operation: 'projection rebuild',
  parameters: { projection: choice.name, dryRun: isDryRun, resume },
  work: (projections, { onProgress }) =>
    onChosen<object>(projections, choice, (chosen) =>
      isDryRun
        ? planRebuild(projections, chosen)
        : rebuildProjections(projections, chosen, {
            resume,
            onProgress: (progress) => {
              const events = 'events' in progress ? progress.events : 0;
              onProgress(progress.phase, events, totalOf(projections, progress));
            },
          }),
    ),
});

/** Events to read, from how far the log was read; undefined: not known. */
function totalOf({ parts: { log } }: ProjectionOperator, progress: RebuildProgress) {
  if (progress.phase !== 'folding') return undefined;
  const fraction = log.fraction(progress.last, progress.until);
  return fraction > 0 ? Math.round(progress.events / Math.min(1, fraction)) : undefined;
}

/** A part, in place. */
export const repairRun = (choice: ProjectionChoice, part: RepairTarget): ProjectionRun => {
  const { tenant, mode, account } = part;
  return {
    operation: 'projection rebuild',
    scope: { tenant, mode },
    parameters: { projection: choice.name, ...(account === undefined ? {} : { account }) },
    work: (projections) =>
      onChosen<object>(projections, choice, (chosen) =>
        repairProjections(projections, chosen, part),
      ),
  };
};

export const diffRun = (name: string, limit: number): ProjectionRun => ({
  operation: 'projection diff',
  parameters: { projection: name },
  work: (projections) =>
    onNamed(projections, name, (projector) => diffProjection(projections, projector, limit)),
});

/** @param seen the generations that the operator saw: others now are refused. */
export const swapRun = (choice: ProjectionChoice, seen?: SeenGenerations): ProjectionRun => ({
  operation: 'projection swap',
  parameters: { projection: choice.name },
  work: (projections) =>
    onChosen(projections, choice, (chosen) =>
      swapProjections(projections, chosen, choice.all ?? false, seen),
    ),
});

/** @param seen as for a swap. */
export const rollBackRun = (name: string, seen?: SeenGenerations): ProjectionRun => ({
  operation: 'projection rollback',
  parameters: { projection: name },
  work: (projections) =>
    onNamed(projections, name, (projector) => rollBackProjection(projections, projector, seen)),
});

export const retryParkedRun = (choice: ProjectionChoice): ProjectionRun => ({
  operation: 'projection retry-parked',
  parameters: { projection: choice.name },
  work: (projections) =>
    onChosen(projections, choice, (chosen) => retryParked(projections, chosen)),
});

export const skipRun = (
  projection: string,
  { tenant, mode, ...skip }: SkipRequest,
): ProjectionRun => ({
  operation: 'projection skip',
  ...(tenant !== undefined && { scope: { tenant, mode } }),
  parameters: { projection, account: skip.account, reason: skip.reason },
  work: (projections) =>
    onNamed(projections, projection, (projector) =>
      skipParkedEvent(projections, projector, { tenant, mode, ...skip }),
    ),
});

/** Undefined: too many runs are not over yet. @throws DatabaseUnavailable */
export function startProjectionRun(
  runs: OperationRuns,
  { core, pool, warn }: Pick<OperationsCore, 'core' | 'pool' | 'warn'>,
  by: string,
  { work, ...asked }: ProjectionRun,
): Promise<Run | undefined> {
  return runs.start({ ...asked, by }, (context) =>
    onProjections(core, pool, { actor: by, signal: context.signal, warn }, (projections) =>
      work(projections, context),
    ),
  );
}
