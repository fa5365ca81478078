import type pg from 'pg';
import { waitAtMost, withTimeout } from '../../foundation/timeout.js';
import { openPool } from '../../postgres/database.js';
import type { PoolUse } from '../event-log-observer.js';
import { EventLogUnavailable } from '../event-log.js';
import type { NewestSeen } from '../newest-seen.js';
import { readLogId } from './postgres-connection.js';
import { asUnavailable } from './postgres-failures.js';
import { compareSeen } from './postgres-seen.js';

/** Plans from when the tables were tiny would keep scanning the whole table. */
const NO_SCANS = 'set enable_seqscan = off';

/** For a server that does not answer a regular close. */
const CLOSE_MS = 2_000;

export interface PostgresReadPoolOptions {
  readonly url: () => string;
  readonly connectionsMax: number;
  /** Of a read, the wait for a connection included. */
  readonly timeoutMs: number;
  /** A new connection is compared with these events before its first read. */
  readonly seen: NewestSeen;
  /** Aborted: further reads are refused. */
  readonly closing: AbortSignal;
}

/** Reads on a pool of connections, each within a time limit. */
export class PostgresReadPool {
  private readonly pool: pg.Pool;
  private readonly tuned = new WeakSet<pg.ClientBase>();

  constructor(private readonly options: PostgresReadPoolOptions) {
    this.pool = openPool({
      url: options.url,
      max: options.connectionsMax,
      applicationName: 'ledger-log-reader',
      statementTimeoutMs: options.timeoutMs,
    });
  }

  get use(): PoolUse {
    return this.pool;
  }

  logId(): Promise<string> {
    return readLogId(this.pool);
  }

  close(): Promise<void> {
    return waitAtMost(CLOSE_MS, this.pool.end());
  }

  /** One statement within the time for reads, the wait for a connection included. */
  async read<R extends unknown[]>(query: pg.QueryArrayConfig<unknown[]>): Promise<readonly R[]> {
    if (this.options.closing.aborted) throw new EventLogUnavailable('the event log is closed');
    const { timeoutMs } = this.options;
    const late = (): Error => new EventLogUnavailable(`no answer within ${timeoutMs} ms`);
    try {
      return await withTimeout(this.readOnConnection<R>(query), timeoutMs, late);
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  private async readOnConnection<R extends unknown[]>(
    query: pg.QueryArrayConfig<unknown[]>,
  ): Promise<readonly R[]> {
    const client = await this.pool.connect();
    let broken = true;
    try {
      const rows = await this.ask<R>(client, query);
      broken = false;
      return rows;
    } finally {
      client.release(broken);
    }
  }

  private async ask<R extends unknown[]>(
    client: pg.PoolClient,
    query: pg.QueryArrayConfig<unknown[]>,
  ): Promise<readonly R[]> {
    if (!this.tuned.has(client)) {
      await client.query(NO_SCANS);
      // A new connection may lead to a server that lacks events of the previous one.
      await compareSeen(
        this.options.seen,
        async (question) => (await client.query<unknown[]>(question)).rows,
      );
      this.tuned.add(client);
    }
    return (await client.query<R>(query)).rows;
  }
}
