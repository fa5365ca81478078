import type { Core } from '../core.js';
import { ApiError } from '../http/api-error.js';
import { IdempotentRequests } from '../http/idempotent-requests.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { CommandError, note } from './command-line.js';
import type { KeyedBy } from './operator-keys.js';

/**
 * Runs a command's work with its idempotency key, if it has one. The process shows its presence meanwhile: a claim that it leaves by a
 * crash can be told from one that is at work.
 * @throws {CommandError} in an operator's words for what a service answers with 409 and 422.
 */
export async function withOwnKeys<T>(core: Core, key: string | undefined, work: (keyed?: KeyedBy) => Promise<T>): Promise<T> {
  if (key === undefined) return work();
  const presence = new ProcessPresence(core.pool);
  await presence.start();
  let repeated = false;
  try {
    const answers = new IdempotentRequests(core.pool, presence, core.answersKey, core.keys);
    const result = await work({ key, answers, onReplayed: () => (repeated = true) });
    if (repeated) note('a repetition: nothing was corrected a second time');
    return result;
  } catch (error) {
    throw error instanceof ApiError ? (inWords(error) ?? error) : error;
  } finally {
    await presence.stop().catch(() => undefined);
  }
}

function inWords({ code }: ApiError): CommandError | undefined {
  if (code === 'IDEMPOTENCY_KEY_REUSED') return new CommandError('the idempotency key was used for another correction');
  if (code === 'REQUEST_IN_PROGRESS') return new CommandError('a correction with this idempotency key is still under way');
  return undefined;
}
