import { accountProjectors } from '../../../projections/account-projectors.js';
import { sealsIn } from '../../chain/chain-seals.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { lagAfter } from '../../event-log/lag.js';
import { projectionStatus } from '../../projecting/following/projection-status.js';
import { waitingAndDead } from '../../webhooks/deliveries/shown-deliveries.js';

/**
 * How far the work behind the ledger of a tenant and mode is. Times are ISO 8601.
 * @throws when the database or the log is unavailable.
 */
export async function backgroundWork(
  { pool, log }: Pick<Core, 'pool' | 'log'>,
  scope: Scope,
  now = Date.now(),
) {
  const [projections, webhooks, sealed, head] = await Promise.all([
    projectionStatus(pool, log, accountProjectors, now),
    waitingAndDead(pool, scope),
    sealsIn(pool)(await log.id()).checkpoint(),
    log.head(),
  ]);
  const { lagSeconds: unsealedSeconds } = await lagAfter(log, sealed.position, head, now);
  return {
    /** Of the read model that is furthest behind; up to 1000, which means: 1000 or more. */
    lagEvents: Math.max(0, ...projections.map(({ lagEvents }) => lagEvents)),
    lagSeconds: Math.ceil(Math.max(0, ...projections.map(({ lagSeconds }) => lagSeconds))),
    /** When the oldest one that waits was made; null: none waits. */
    oldestWaitingWebhook: webhooks.oldestWaiting?.toISOString() ?? null,
    deadWebhooks: webhooks.dead,
    /** Every event that was recorded before is sealed. */
    sealedUpTo: new Date(now - unsealedSeconds * 1_000).toISOString(),
  };
}
