import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { Bulkhead } from '../../foundation/bulkhead.js';
import { DatabaseUnavailable } from '../../postgres/database.js';
import { inTransaction } from '../../postgres/transaction.js';

/** Of all tenants together. */
const WAITING_MAX = 100;

/** The server's other processors are for other reads. */
const ONE_PROCESS = 'set local max_parallel_workers_per_gather = 0';

/** Bounds reads that grow with a tenant's rows, so that others find connections. */
export class SlowReads {
  private readonly bulkhead: Bulkhead;

  /** @param atWorkMax connections of the pool that they may hold. */
  constructor(
    private readonly pool: Pool,
    atWorkMax: number,
  ) {
    this.bulkhead = new Bulkhead({ atWorkMax, waitingMax: WAITING_MAX });
  }

  /** @throws {DatabaseUnavailable} when too many wait, and the database's errors. */
  async query<R extends QueryResultRow>(
    tenant: string,
    statement: QueryConfig,
  ): Promise<QueryResult<R>> {
    const place = await this.bulkhead.enter(tenant);
    if (place === undefined)
      throw new DatabaseUnavailable('too many slow reads are waiting: repeat the request later');
    try {
      return await inTransaction(this.pool, async (client) => {
        await client.query(ONE_PROCESS);
        return client.query<R>(statement);
      });
    } finally {
      place.leave();
    }
  }
}
