import type { Pool } from 'pg';
import { forgetInRuns } from '../../runs/recorded-runs.js';
import { removeTestDeliveries } from '../../webhooks/deliveries/delivery-rows.js';

/** When a tenant's test data were removed, and the number of the ledger that came after them. */
export interface TestDataRemoval {
  /** Epoch milliseconds. */
  readonly since: number;
  readonly ledger: number;
}

/** Forgets what tables next to the log have of removed test data. Harmless when repeated. */
export async function forgetTestData(
  pool: Pool,
  tenant: string,
  removal: TestDataRemoval,
): Promise<void> {
  await removeTestDeliveries(pool, tenant, removal);
  await forgetInRuns(pool, { tenant, mode: 'test' }, removal.ledger);
}
