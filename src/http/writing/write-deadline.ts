import type { FastifyReply, FastifyRequest } from 'fastify';
import { after } from '../../foundation/world.js';
import { unavailable, type ApiError } from '../edge/api-error.js';

/**
 * After this time a write checks its stores; with the check's own time it is refused within five
 * seconds.
 */
const CHECK_AFTER_MS = 2_400;
/** A person waits for a page, and sees within two seconds that a store is away. */
const CHECK_PAGE_AFTER_MS = 500;
const CHECK_AGAIN_MS = 500;

export interface StoreChecks {
  /** Whether the stores of a write answer and accept it; itself answered within two seconds. */
  readonly storesAnswer: () => Promise<boolean>;
  /** The same for a page of the console: reads go on while the log alone is away. */
  readonly databaseAnswers: () => Promise<boolean>;
}

/**
 * Refuses a write, or a page of the console, with 503 as soon as a store is known to hang or to
 * refuse. Each step of a write has its own time limit, and these may expire one after the other;
 * one limit for all would refuse long writes that progress. The write continues behind the answer:
 * a repetition with the same idempotency key shows its effect, as after any lost answer.
 */
export function refuseWhenStoresHang(
  request: FastifyRequest,
  reply: FastifyReply,
  { storesAnswer, databaseAnswers }: StoreChecks,
  refuse: (error: ApiError) => void,
): void {
  const isPage = request.routeOptions.config.access?.kind === 'console';
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isRead && !isPage) return;
  let cancel: () => void;
  const checkAfter = (ms: number): void => {
    cancel = after(ms, () => void check(), { keepsProcess: false });
  };
  const check = async (): Promise<void> => {
    if (reply.sent) return;
    const answered = await (isRead ? databaseAnswers() : storesAnswer());
    if (reply.sent || reply.raw.destroyed) return;
    if (answered) checkAfter(CHECK_AGAIN_MS);
    else refuse(unavailable());
  };
  checkAfter(isPage ? CHECK_PAGE_AFTER_MS : CHECK_AFTER_MS);
  reply.raw.once('close', () => cancel());
}
