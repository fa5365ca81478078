import type { Pool } from 'pg';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { putDeliveries } from './delivery-rows.js';

/** Test events, which are about nothing in the log. */
export class TestDeliveries {
  constructor(
    private readonly pool: Pool,
    private readonly onSent: () => void = () => undefined,
  ) {}

  /** To one endpoint; the same command again sends nothing more. */
  async send(scope: Scope, endpointId: string, commandId: string): Promise<void> {
    await putDeliveries(this.pool, [
      {
        ...scope,
        endpointId,
        id: deterministicId(commandId, 'webhook test delivery'),
        webhookId: deterministicId(commandId, 'webhook test'),
        type: 'test',
        subject: {},
        event: null,
        created: timeNow(),
      },
    ]);
    this.onSent();
  }
}
