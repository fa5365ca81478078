import { canonicalJson } from '../foundation/canonical-json.js';
import type { StoredAnswer, KeyedRequest } from '../idempotency/idempotency-key.js';
import type { StoredAnswers } from '../idempotency/stored-answers.js';
import { DatabaseUnavailable } from '../postgres/database.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { personNamed, type StaffMeta } from './audit.js';
import { type OperationRefusalCode, NotDone, outcomeOf } from './outcome.js';

/** The kept answers by idempotency key, which the service and the command line share. */
export type OperatorAnswers = Pick<StoredAnswers, 'claim' | 'keep' | 'drop' | 'abandon'>;

/** An operator's idempotency key, and where its answers are kept. */
export interface KeyedBy {
  readonly key: string;
  readonly answers: OperatorAnswers;
  /** Called when the answer was kept, or the effect recorded, by an earlier call. */
  readonly onReplayed?: () => unknown;
}

/** The result of keyed work, of this call or an earlier one. */
interface Keyed<T> {
  readonly done: T;
  readonly replayed: boolean;
}

interface KeyedOperation {
  /**
   * Of the operation's command. The operator's key is found again by the operator's name, in every
   * channel.
   */
  readonly meta: StaffMeta;
  /** The request that the key must always come with, without the operator's name. */
  readonly asked: object;
  /** Undefined: the work is done whenever it is called. */
  readonly keyed: KeyedBy | undefined;
}

/** The status of a kept answer: the work was done, or refused. */
const DONE = 200;
const REFUSED = 400;

/**
 * Runs an operation once for each key of an operator, tenant and mode, in any process. Each
 * operator has a set of keys, so no other operator or client can use up a key of it. The key is
 * stored with the events, so after a crash the log answers with the recorded effect.
 * @throws {DatabaseUnavailable} when a refusal cannot be kept.
 */
export async function onceIfKeyed<T>(
  names: KeyedNames,
  operation: KeyedOperation,
  work: (meta: StaffMeta) => Promise<Keyed<T>>,
): Promise<Keyed<T>> {
  const { keyed, meta } = operation;
  if (keyed === undefined) return work(meta);
  const { answers, onReplayed } = keyed;
  const request = keyedRequest(names, operation, keyed.key);
  const claimed = await answers.claim(request);
  if ('refused' in claimed) throw keyRefused(claimed.refused);
  if ('answer' in claimed) {
    onReplayed?.();
    return { done: again<T>(claimed.answer), replayed: true };
  }
  const { key, fingerprint } = request;
  const keyedMeta = { ...meta, ...claimed, idempotency: { key, fingerprint } };
  const outcome = await outcomeOf(() => work(keyedMeta)).catch((error: unknown) => {
    answers.abandon(request);
    throw error;
  });
  if (outcome instanceof NotDone) {
    await keepRefusal(answers, request, outcome);
    throw outcome;
  }
  // The effect is in the log, which answers the next time even if keeping the answer fails.
  await isKept(answers, request, { status: DONE, body: outcome.done, position: null });
  if (outcome.replayed) onReplayed?.();
  return outcome;
}

/**
 * A refusal must be kept: decided again, the request could succeed after the operator saw it
 * refused.
 */
async function keepRefusal(
  answers: OperatorAnswers,
  request: KeyedRequest,
  refusal: NotDone,
): Promise<void> {
  if (refusal.code === 'IDEMPOTENCY_KEY_REUSED') return answers.drop(request);
  const body: KeptRefusal = { reason: refusal.text(), refused: refusal.code };
  if (!(await isKept(answers, request, { status: REFUSED, body, position: null })))
    throw new DatabaseUnavailable('The service is not available at the moment');
}

function keyedRequest(
  names: KeyedNames,
  { meta: { scope, actor, causationId: operation }, asked }: KeyedOperation,
  key: string,
): KeyedRequest {
  return {
    scope,
    key: names.digest(
      'operation-key',
      scope.tenant,
      scope.mode,
      personNamed(actor.name.value),
      key,
    ),
    fingerprint: names.digest('operation-fingerprint', operation, canonicalJson(asked)),
  };
}

interface KeptRefusal {
  readonly reason: string;
  readonly refused: OperationRefusalCode;
}

/** @param code why the key is of no use. */
export const keyRefused = (code: 'IDEMPOTENCY_KEY_REUSED' | 'REQUEST_IN_PROGRESS'): NotDone =>
  new NotDone(code, [
    code === 'REQUEST_IN_PROGRESS'
      ? 'a request with this idempotency key is still under way'
      : 'the idempotency key was used for another request',
  ]);

function again<T>({ status, body }: StoredAnswer): T {
  if (status !== REFUSED) return body as T;
  const { refused, reason } = body as KeptRefusal;
  throw new NotDone(refused, [reason]);
}

async function isKept(
  answers: OperatorAnswers,
  request: KeyedRequest,
  answer: StoredAnswer,
): Promise<boolean> {
  try {
    await answers.keep(request, answer);
    return true;
  } catch {
    answers.abandon(request);
    return false;
  }
}
