import type { FastifyReply, FastifyRequest } from 'fastify';
import { after } from '../../foundation/world.js';
import { unavailable, type ApiError } from '../edge/api-error.js';

/** A write checks its stores after this time, and so is refused within five seconds. */
const CHECK_AFTER_MS = 2_400;
/** Pages show an outage within two seconds. */
const CHECK_PAGE_AFTER_MS = 500;
const CHECK_AGAIN_MS = 500;

export interface StoreChecks {
  /** Whether the stores answer and accept writes; answers within two seconds. */
  readonly storesAnswer: () => Promise<boolean>;
  /** For pages: reads continue while only the log is unavailable. */
  readonly databaseAnswers: () => Promise<boolean>;
}

/**
 * Refuses a write or a console page with 503 as soon as a store is known to hang. The steps' own
 * limits would add up, and a limit for all would refuse long writes that progress. The write
 * continues: a repetition with its idempotency key shows the effect.
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
