import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { FairSlots } from '../../foundation/fair-slots.js';
import { DatabaseUnavailable } from '../../postgres/database.js';
import { inTransaction } from '../../postgres/transaction.js';

/** Slow reads that wait, of all tenants together. */
const WAITING_MAX = 100;

/** The server's other processors are for other reads. */
const ONE_PROCESS = 'set local max_parallel_workers_per_gather = 0';

/**
 * Reads that take the longer the more rows a tenant has: a few at a time, on connections of their
 * own, so that they hold none that other requests need. Tenants take turns, and each has at least
 * one connection less than there are, so that none waits for another one's reads alone.
 */
export class SlowReads {
  private readonly slots: FairSlots;

  /** @param connections of the pool. */
  constructor(
    private readonly pool: Pool,
    connections: number,
  ) {
    const perGroupMax = Math.max(1, connections - 1);
    this.slots = new FairSlots({
      slots: connections,
      perGroupMax,
      aloneMax: perGroupMax,
      pastMs: 0,
      waitingMax: WAITING_MAX,
    });
  }

  /** @throws {DatabaseUnavailable} when too many wait, and the database's errors. */
  async query<R extends QueryResultRow>(
    tenant: string,
    statement: QueryConfig,
  ): Promise<QueryResult<R>> {
    const turn = this.slots.enter({ group: tenant, member: '' });
    try {
      if (!(await turn.begun)) throw new DatabaseUnavailable('too many slow reads wait');
      return await inTransaction(this.pool, async (client) => {
        await client.query(ONE_PROCESS);
        return client.query<R>(statement);
      });
    } finally {
      turn.end();
    }
  }
}
