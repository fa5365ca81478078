import type { Core } from '../stores/core.js';
import { firstLine } from '../foundation/describe-error.js';
import { randomBelow, newId } from '../foundation/world.js';
import { endOf, type Outcome } from '../operations/outcome.js';
import { RecordedRuns, type NewRun, type RunEnd, type RunProgress } from '../runs/recorded-runs.js';

/** A command that may take long, as runs are recorded. */
interface CommandRun extends Omit<NewRun, 'id'> {
  /** Stops the work, when an operator asks for that elsewhere. */
  readonly stop: () => void;
}

export type NoteProgress = (phase: string, done: number, total?: number) => void;

const REPORT_MS = 1_000;
const OWNERS = 2 ** 31 - 1;

/**
 * Runs the work as a run that the console and `/operations` show and stop. If no run can be
 * recorded, the command continues without one.
 */
export async function asRun<T>(
  { pool, answerSealer }: Pick<Core, 'pool' | 'answerSealer'>,
  { stop, ...asked }: CommandRun,
  work: (note: NoteProgress) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  // No process of a service: it is alive as long as it reports.
  const runs = new RecordedRuns(pool, answerSealer, randomBelow(OWNERS) + 1);
  const id = newId();
  const isRecorded = await runs.begin({ id, ...asked }).catch(() => false);
  let progress: RunProgress | null = null;
  const note: NoteProgress = (phase, done, total) => {
    progress = { phase, done, total: total ?? null };
  };
  if (!isRecorded) return work(note);
  const reporting = setInterval(() => {
    runs.report([{ id, progress }]).then(
      (toStop) => {
        if (toStop.length > 0) stop();
      },
      () => undefined,
    );
  }, REPORT_MS);
  const ended = async (end: RunEnd): Promise<void> => {
    clearInterval(reporting);
    await runs.end(id, end, progress).catch(() => undefined);
  };
  try {
    const outcome = await work(note);
    await ended(endOf(outcome));
    return outcome;
  } catch (error) {
    await ended({ error: firstLine(error) });
    throw error;
  }
}
