import type { Pool } from 'pg';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import { ofMode, type Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { Subscription } from '../subscriptions/webhook-subscriptions.js';
import { putDeliveries } from './delivery-rows.js';
import type { DueDelivery } from './due-deliveries.js';

/** Test events, which are about nothing in the log. */
export class TestDeliveries {
  constructor(
    private readonly pool: Pool,
    private readonly onSent: () => void = () => undefined,
  ) {}

  /**
   * To one endpoint; the same command again sends nothing more. The row names the subscription: the
   * follower may learn of its beginning, and of the end of the one before, behind this.
   */
  async send(
    scope: Scope,
    { endpointId, subscribedAt }: Pick<Subscription, 'endpointId' | 'subscribedAt'>,
    commandId: string,
  ): Promise<void> {
    await putDeliveries(this.pool, [
      {
        ...ofMode(scope),
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

/** False: a test of an earlier subscription of the URL. */
export const isFor = (
  { event, subject: { subscribedAt } }: Pick<DueDelivery, 'event' | 'subject'>,
  subscription: Pick<Subscription, 'subscribedAt'>,
): boolean =>
  event !== null ||
  subscribedAt === undefined ||
  subscribedAt === String(subscription.subscribedAt);
