import type { Pool } from 'pg';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import { scopeOfMode, type Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { Subscription } from '../subscriptions/webhook-subscriptions.js';
import { putDeliveries } from './delivery-rows.js';
import type { DueDelivery } from './due-deliveries.js';

export class TestDeliveries {
  constructor(
    private readonly pool: Pool,
    private readonly onSent: () => void = () => undefined,
  ) {}

  /**
   * Sends a test to one endpoint, once per command. The row names the subscription, because the
   * follower may read its beginning later.
   */
  async send(
    scope: Scope,
    { endpointId, subscribedAt }: Pick<Subscription, 'endpointId' | 'subscribedAt'>,
    commandId: string,
  ): Promise<void> {
    await putDeliveries(this.pool, [
      {
        ...scopeOfMode(scope),
        endpointId,
        id: deterministicId(commandId, 'webhook test delivery'),
        webhookId: deterministicId(commandId, 'webhook test'),
        type: 'test',
        subject: { subscribedAt: String(subscribedAt) },
        event: null,
        created: timeNow(),
      },
    ]);
    this.onSent();
  }
}

/** False: the test belongs to an earlier subscription. */
export const belongsTo = (
  { event, subject: { subscribedAt } }: Pick<DueDelivery, 'event' | 'subject'>,
  subscription: Pick<Subscription, 'subscribedAt'>,
): boolean =>
  event !== null ||
  subscribedAt === undefined ||
  subscribedAt === String(subscription.subscribedAt);
