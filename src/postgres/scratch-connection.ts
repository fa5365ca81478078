import type { Pool, PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { Connection } from './statements.js';

/**
 * A connection for temporary tables: taken with its first statement, one statement at a time, and
 * ended by `close` together with its tables.
 */
export class ScratchConnection implements Connection {
  private client: Promise<PoolClient> | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly pool: Pool) {}

  query<R extends QueryResultRow>(
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<R>> {
    this.client ??= this.pool.connect();
    const { client } = this;
    const answer = this.last.then(async () => (await client).query<R>(statement, values));
    this.last = answer.catch(() => undefined);
    return answer;
  }

  close(): void {
    this.client?.then(
      (client) => client.release(true),
      () => undefined,
    );
  }
}
