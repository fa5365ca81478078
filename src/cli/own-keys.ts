import { randomUUID } from 'node:crypto';
import { accountProjectors } from '../../projections/account-projectors.js';
import type { Core } from '../stores/core.js';
import { releaseOf } from '../stores/release.js';
import { LogAheadOfClock } from '../event-log/clock.js';
import { firstLine } from '../foundation/describe-error.js';
import { PostgresAnswerRows } from '../idempotency/answer-rows.js';
import { KeptAnswers } from '../idempotency/kept-answers.js';
import { CommandError } from './command-error.js';
import type { KeyedBy } from '../operations/operator-keys.js';
import { NotDone, type Outcome } from '../operations/outcome.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { note } from './command-line.js';

type KeyedWork = 'correction' | 'proposal';
const PAST: Readonly<Record<KeyedWork, string>> = {
  correction: 'corrected',
  proposal: 'proposed',
};

/**
 * Runs a command's work with its idempotency key, or with a new one: when the answer of an effect
 * is lost, the error names the key, which makes a repetition harmless. The process registers itself
 * meanwhile, which distinguishes a claim that a crash left from one in use. @throws {CommandError}
 * for work that may have an effect.
 */
export async function withOwnKeys<T>(
  core: Core,
  given: string | undefined,
  work: (keyed: KeyedBy) => Promise<Outcome<T>>,
  kind: KeyedWork = 'correction',
): Promise<Outcome<T>> {
  const key = given ?? randomUUID();
  const presence = new ProcessPresence(core.pool, releaseOf(accountProjectors));
  await presence.start();
  let repeated = false;
  try {
    const answers = new KeptAnswers(
      new PostgresAnswerRows(core.pool, presence),
      core.answerSealer,
      core.keys,
    );
    const result = await work({ key, answers, onReplayed: () => (repeated = true) });
    if (repeated && !(result instanceof NotDone))
      note(`a repetition: nothing was ${PAST[kind]} a second time`);
    return result;
  } catch (error) {
    throw mayStand(error, key, kind);
  } finally {
    await presence.stop().catch(() => undefined);
  }
}

/** After a refusal nothing changed; after any other error the effect may be in the log. */
function mayStand(error: unknown, key: string, kind: KeyedWork): CommandError {
  // The log stored nothing.
  if (error instanceof LogAheadOfClock) return new CommandError(firstLine(error));
  return new CommandError(
    `${firstLine(error)}: the ${kind} may stand; the same operator repeats the command with --idempotency-key ${key} without a second effect`,
  );
}
