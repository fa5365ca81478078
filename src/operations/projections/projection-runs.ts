import type { Outcome } from '../outcome.js';
import {
  diffProjection,
  planRebuild,
  rebuildProjections,
  rollBackProjection,
  swapProjections,
} from './projection-commands.js';
import {
  onChosen,
  onNamed,
  onReadModels,
  type ProjectionChoice,
  type ProjectionOperator,
} from './projection-operator.js';
import { repairProjections, retryParked, type RepairTarget } from './projection-repairs.js';
import { skipParkedEvent, type SkipRequest } from './projection-skips.js';
import type { RebuildProgress } from '../../projecting/generations/rebuild.js';
import type { SeenGenerations } from '../../projecting/generations/switch-generations.js';
import type { Scope } from '../../domain/scope.js';
import type { OperationContext } from '../registry/operation.js';

type RunContext = Pick<OperationContext, 'signal' | 'onProgress'>;

/** An operation on read models, the same in each channel. */
export interface ProjectionRun {
  readonly operation: string;
  /** Undefined: of no single tenant. */
  readonly scope?: Scope;
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
              const { phase } = progress;
              const done = 'events' in progress ? progress.events : 0;
              const of = 'projection' in progress ? ` ${progress.projection}` : '';
              onProgress(phase + of, done, totalOf(projections, progress));
            },
          }),
    ),
});

/** Events to read, from how far the log was read; undefined: not known. */
function totalOf({ parts: { log } }: ProjectionOperator, progress: RebuildProgress) {
  if (progress.phase !== 'reading' || progress.until === undefined) return undefined;
  const fraction = Number(log.order(progress.last)) / Number(log.order(progress.until));
  return Math.round(progress.events / Math.min(1, fraction));
}

/** A part, in place. */
export const repairRun = (choice: ProjectionChoice, part: RepairTarget): ProjectionRun => {
  const { tenant, mode, account } = part;
  return {
    operation: 'projection rebuild',
    scope: { tenant, mode },
    parameters: { projection: choice.name, ...(account === undefined ? {} : { account }) },
    work: (projections, context) =>
      onChosen<object>(projections, choice, (chosen) =>
        repairProjections(projections, chosen, part, reading(context)),
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
  work: (projections, context) =>
    onChosen(projections, choice, (chosen) =>
      retryParked(projections, chosen, { onPage: reading(context) }),
    ),
});

export const skipRun = (
  projection: string,
  { tenant, mode, ...skip }: SkipRequest,
): ProjectionRun => ({
  operation: 'projection skip',
  ...(tenant !== undefined && { scope: { tenant, mode } }),
  parameters: { projection, account: skip.account, reason: skip.reason },
  work: (projections, context) =>
    onNamed(projections, projection, (projector) =>
      skipParkedEvent(projections, projector, { tenant, mode, ...skip }, reading(context)),
    ),
});

/** Events that were read, as progress. */
const reading = ({ onProgress }: RunContext): ((events: number) => void) => {
  let read = 0;
  return (events) => onProgress('reading', (read += events));
};

/** Carries out a run on the read models. */
export const workOn = (
  context: OperationContext,
  { work }: Pick<ProjectionRun, 'work'>,
): Promise<Outcome<unknown>> => onReadModels(context, (projections) => work(projections, context));
