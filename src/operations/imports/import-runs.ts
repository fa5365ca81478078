import { isoOrNull, isoText } from '../../foundation/instant.js';
import type { Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { ImportKind } from '../../imports/rows/import-rows.js';
import { RecordedRuns, type RecordedRun } from '../../runs/recorded-runs.js';
import type { Core } from '../../stores/core.js';
import { NotDone } from '../outcome.js';
import { scopeOf } from '../registry/context.js';

/** An import as operators see it. Times are ISO 8601. */
export type ShownImport = ReturnType<typeof shownImport>;

type RunsCore = Pick<Core, 'pool' | 'answerSealer'>;

/** Of all processes; this one runs none of them. */
const runsOf = ({ pool, answerSealer }: RunsCore): RecordedRuns =>
  new RecordedRuns(pool, answerSealer, 0);

/** The newest first. */
export async function listImports(core: RunsCore, scope: Scope): Promise<readonly ShownImport[]> {
  return (await runsOf(core).imports(scope)).map(shownImport);
}

/** An import of the tenant, in either mode. @throws {NotDone} */
export async function findImport(
  core: RunsCore & Pick<Core, 'tenants'>,
  tenant: string,
  id: string,
): Promise<RecordedRun> {
  await scopeOf(core, { tenant });
  const run = await runsOf(core).find(id);
  if (run?.scope?.tenant !== tenant || !run.operation.startsWith(PREFIX)) throw IMPORT_NOT_FOUND;
  return run;
}

export const IMPORT_NOT_FOUND = new NotDone('IMPORT_NOT_FOUND', ['there is no such import']);

const PREFIX = 'import ';

export const kindOf = ({ operation }: Pick<RecordedRun, 'operation'>): ImportKind =>
  operation.slice(PREFIX.length) as ImportKind;

export function shownImport(run: RecordedRun) {
  const { id, scope, by, state, startedAt, finishedAt, result, error } = run;
  const { dryRun = false } = run.parameters as { readonly dryRun?: boolean };
  const isAbandoned = state === 'abandoned';
  return {
    id,
    kind: kindOf(run),
    mode: scope?.mode ?? null,
    dryRun,
    /** The operator's name. */
    by,
    state: isAbandoned ? 'failed' : state,
    startedAt: isoText(startedAt),
    finishedAt: isoOrNull(finishedAt),
    progress: shownProgress(run),
    /** Null until it is done. */
    result,
    /** In one line; null: none. */
    error: isAbandoned ? 'the process that ran it has ended: continue it' : error,
  };
}

/** Rows; null: not known yet. */
function shownProgress({ progress, state, startedAt }: RecordedRun) {
  if (progress === null) return null;
  // The rows that were checked are not in yet.
  const { total, done } = progress.total === null ? { total: null, done: 0 } : progress;
  const isMeasured = state === 'running' && total !== null && done > 0;
  const msLeft = isMeasured ? ((timeNow() - startedAt) / done) * (total - done) : null;
  return { done, total, secondsLeft: msLeft === null ? null : Math.ceil(msLeft / 1_000) };
}
