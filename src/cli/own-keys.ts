import { randomUUID } from 'node:crypto';
import type { Core } from '../core/core.js';
import { firstLine } from '../foundation/describe-error.js';
import { KeptAnswers } from '../kept-answers/kept-answers.js';
import { CommandError } from './command-error.js';
import type { KeyedBy } from '../operations/operator-keys.js';
import { NotDone, type Outcome } from '../operations/outcome.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { note } from './command-line.js';

/**
 * Runs a command's work with its idempotency key, or with one that is made for it: the answer of an
 * effect may be lost, and the key that is named then makes the repetition harmless. The process
 * shows its presence meanwhile: a claim that it leaves by a crash can be told from one that is at
 * work.
 * @throws {CommandError} for work that may stand.
 */
export async function withOwnKeys<T>(
  core: Core,
  given: string | undefined,
  work: (keyed: KeyedBy) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const key = given ?? randomUUID();
  const presence = new ProcessPresence(core.pool);
  await presence.start();
  let repeated = false;
  try {
    const answers = new KeptAnswers(core.pool, presence, core.answersKey, core.keys);
    const result = await work({ key, answers, onReplayed: () => (repeated = true) });
    if (repeated && !(result instanceof NotDone))
      note('a repetition: nothing was corrected a second time');
    return result;
  } catch (error) {
    throw mayStand(error, key);
  } finally {
    await presence.stop().catch(() => undefined);
  }
}

/**
 * A refusal is known; after anything else the effect may be in the log although nobody was told.
 */
function mayStand(error: unknown, key: string): CommandError {
  return new CommandError(
    `${firstLine(error)}: the correction may stand; the same command with --idempotency-key ${key} tells, and has no second effect`,
  );
}
