import type { FastifyReply, FastifyRequest } from 'fastify';
import { unavailable } from './api-error.js';
import { answerWithError, type ErrorMapping } from './http-error-filter.js';

/** Whether the stores that a write needs answer; itself answered within two seconds. */
export type StoresAnswer = () => Promise<boolean>;

/**
 * A write that takes so long asks whether its stores answer. With that question's own time it is
 * refused within five seconds.
 */
const ASK_AFTER_MS = 2_400;
const ASK_AGAIN_MS = 500;

/** Methods that change nothing. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a write with 503 as soon as it is known that a store hangs. The steps of a write have a
 * time limit each, which may run out one after the other; and a single limit for all of them would
 * refuse long writes that are well under way. What was begun goes on behind the answer: whether it
 * had an effect is told by a repetition with the same idempotency key, as after any lost answer.
 */
export function refuseWhenStoresHang(
  request: FastifyRequest,
  reply: FastifyReply,
  stores: StoresAnswer,
  mapping: ErrorMapping,
): void {
  if (READS.has(request.method)) return;
  let timer: NodeJS.Timeout;
  const ask = async (): Promise<void> => {
    const answered = await stores();
    if (reply.sent || reply.raw.destroyed) return;
    if (answered) timer = setTimeout(() => void ask(), ASK_AGAIN_MS);
    else answerWithError(unavailable(), request, reply, mapping);
  };
  timer = setTimeout(() => void ask(), ASK_AFTER_MS);
  reply.raw.once('close', () => clearTimeout(timer));
}
