import type { Pool } from 'pg';
import { loadCheckpoint } from '../../following/checkpoints.js';
import { boundTo } from '../../postgres/statements.js';
import { WEBHOOKS_HANDLER } from '../../reacting/parked-reactions.js';
import {
  createWebhookCheckpoint,
  endpointsInState,
  storePage,
  unreadEvents,
  waitingDeliveries,
} from './delivery-rows.js';

/** What the handler of webhooks stores. Every call throws while the database is unavailable. */
export const postgresAnnouncementsStore = (pool: Pool) =>
  boundTo(pool, {
    checkpoint: (db: Pool) => loadCheckpoint(db, WEBHOOKS_HANDLER),
    begin: createWebhookCheckpoint,
    storePage,
    endpointsInState,
    unreadEvents,
    waiting: waitingDeliveries,
  });

export type AnnouncementsStore = ReturnType<typeof postgresAnnouncementsStore>;
