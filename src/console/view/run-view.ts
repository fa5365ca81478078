import { withThousands } from '../../foundation/thousands.js';
import type { ShownRun } from '../../http/operations/operation-runs.js';

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
  };
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
