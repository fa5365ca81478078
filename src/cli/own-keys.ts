import { randomUUID } from 'node:crypto';
import { accountProjectors } from '../../projections/account-projectors.js';
import type { Core } from '../stores/core.js';
import { releaseOf } from '../stores/release.js';
import { LogAheadOfClock } from '../event-log/clock.js';
import { firstLine } from '../foundation/describe-error.js';
import { PostgresAnswerRows } from '../idempotency/answer-rows.js';
import { StoredAnswers } from '../idempotency/stored-answers.js';
import { CommandError } from './command-error.js';
import type { KeyedBy } from '../operations/operator-keys.js';
import type { Outcome } from '../operations/outcome.js';
import { ProcessPresence } from '../postgres/process-presence.js';

/**
 * Runs a command's work with its idempotency key, or with a new one: when the answer of an effect
 * is lost, the error names the key, which makes a repetition harmless. The process registers itself
 * meanwhile, which distinguishes a claim that a crash left from one in use. @throws {CommandError}
 * for work that may have an effect.
 */
export async function withOwnKeys<T>(
  core: Core,
  {
    key = randomUUID(),
    onReplayed,
  }: { readonly key: string | undefined } & Pick<KeyedBy, 'onReplayed'>,
  work: (keyed: KeyedBy) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const presence = new ProcessPresence(core.pool, releaseOf(accountProjectors));
  await presence.start();
  try {
    const rows = new PostgresAnswerRows(core.pool, presence);
    const answers = new StoredAnswers(rows, core.answerSealer, core.keys);
    return await work({ key, answers, onReplayed });
  } catch (error) {
    // The log stored nothing.
    if (error instanceof LogAheadOfClock) throw new CommandError(firstLine(error));
    // After a refusal nothing changed; after any other error the effect may be in the log.
    throw new CommandError(
      `${firstLine(error)}: the change may stand; the same operator repeats the command with --idempotency-key ${key} without a second effect`,
    );
  } finally {
    await presence.stop().catch(() => undefined);
  }
}
