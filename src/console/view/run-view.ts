import { withThousands } from '../../foundation/thousands.js';
import type { ShownRun } from '../../http/operations/operation-runs.js';
import { capital } from './templates.js';

/**
 * A run on a page: while it is under way its progress, and the reason why it failed.
 * @param now epoch milliseconds.
 */
export function runView(run: ShownRun, now: number) {
  const { id, state, progress, startedAt, error } = run;
  return {
    id,
    isRunning: state === 'running',
    progress: progressText(run),
    pace: paceText(run, now),
    done: progress?.done ?? 0,
    /** 0: unknown. */
    total: progress?.total ?? 0,
    startedAt,
    error,
    isCancelled: stateOf(run) === 'Cancelled',
    /** Null: it cannot be repeated without its file, or is not over. */
    againPath: state === 'failed' && isRepeatable(run) ? `/console/runs/${id}/again` : null,
  };
}

/** What a comparison found. */
export interface FoundBy {
  readonly hasDifferences?: boolean;
}

/** The state of a run in the words of pages. */
export function stateOf(run: Pick<ShownRun, 'state' | 'error'> & FoundBy): string {
  const { state, error, hasDifferences = false } = run;
  if (state === 'done' && hasDifferences) return 'Differences found';
  return state === 'failed' && error?.startsWith('stopped') ? 'Cancelled' : capital(state);
}

/** A run keeps its arguments, but not the files that it was given. */
export const isRepeatable = ({
  operation,
  parameters,
}: Pick<ShownRun, 'operation' | 'parameters'>): boolean => {
  const { againstFile, digest } = parameters as { againstFile?: boolean; digest?: string };
  return !operation.startsWith('import ') && againstFile !== true && digest === undefined;
};

/** `ledger replay` reads `Replay`, `payment sync` reads `Payment sync`. */
export function runTitle(operation: string): string {
  return capital(operation.replace(/^ledger /, ''));
}

/** `done` at the end, which readers of the page wait for. */
export function progressText({ state, progress }: Pick<ShownRun, 'state' | 'progress'>): string {
  if (state === 'done') return 'done';
  if (state === 'failed') return 'failed';
  if (progress === null) return 'begun';
  const { phase, done, total } = progress;
  return total === null ? `${phase}: ${done}` : `${phase}: ${done} of ${total}`;
}

/** Below this a rate says nothing. */
const RATE_AFTER_MS = 1_000;

/**
 * `1 200 a second, 12 s left` while a run is under way, measured since it began; empty: not known.
 * @param now epoch milliseconds.
 */
export function paceText(
  { state, progress, startedAt }: Pick<ShownRun, 'state' | 'progress' | 'startedAt'>,
  now: number,
): string {
  const ms = now - Date.parse(startedAt);
  if (state !== 'running' || progress === null || progress.done === 0 || ms < RATE_AFTER_MS)
    return '';
  const { done, total } = progress;
  const perSecond = (done * 1_000) / ms;
  const rate = perSecond < 10 ? perSecond.toFixed(1) : withThousands(String(Math.round(perSecond)));
  const left = total === null ? '' : `, ${timeText(Math.max(0, total - done) / perSecond)} left`;
  return `${rate} a second${left}`;
}

/** `45 s`, `12 min`, `3 h 20 min`, the next larger one. */
export function timeText(seconds: number): string {
  if (seconds <= 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 90) return `${minutes} min`;
  const rest = minutes % 60 === 0 ? '' : ` ${minutes % 60} min`;
  return `${Math.floor(minutes / 60)} h${rest}`;
}
