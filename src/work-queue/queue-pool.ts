import type { Pool, PoolClient, QueryResult } from 'pg';
import { errorCode } from '../foundation/error-code.js';
import type { Logger } from '../foundation/logger.js';
import { backOffMs, pause } from '../foundation/pause.js';
import { isUnavailable } from '../postgres/database.js';
import { probed } from '../postgres/probe.js';

/** A statement as the library passes it to pg. */
interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}
type Release = (error?: Error | boolean) => void;
type OnListening = (error: undefined, client: PoolClient, release: Release) => void;

/**
 * The library's statements are recognised by the names that it prepares them under (dist/sql of
 * graphile-worker 0.17).
 */
const FETCH = 'get_job';
const SETTLE = /^(complete|fail)_job(_q)?\//;

/** The library's statements take milliseconds; a longer one means a server that does not answer. */
const ANSWER_WITHIN_MS = 5_000;
const RETRY = { first: 50, max: 1_000 } as const;
const PROBE = { everyMs: 5_000, withinMs: 3_000 } as const;

/** An outage as the Postgres error that the library retries. */
class QueueAway extends Error {
  override readonly name = 'QueueAway';
  readonly code = '57P03';
}

/**
 * The pool as the queue's library (graphile-worker) needs it to outlive an outage. It completes and
 * fails jobs by statements that it does not await, so that any error of theirs would end the
 * process; it tries again after 57P03, but not after a connection that broke or was
 * refused, and gives up after a hundred tries. So here:
 * - a connection is waited for until there is one;
 * - a statement that completes or fails a job is tried until it succeeds, and never rejects;
 * - a statement that fetches a job and fails has fetched none: the library asks again at its next
 *   poll;
 * - any other that meets an outage rejects with 57P03;
 * - after `close` nothing comes back any more, neither a connection nor an error.
 */
export class QueuePool {
  /** The pool for the library. */
  readonly pool: Pool;
  private readonly closing = new AbortController();
  private readonly lent = new Set<Release>();
  private readonly inHand = new Set<string>();
  private fetching = 0;

  constructor(
    private readonly connections: Pool,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.pool = overriding(connections, {
      connect: (onListening?: OnListening): unknown =>
        onListening ? void this.listen(onListening) : this.lend(),
      query: (...args: unknown[]): Promise<QueryResult> => this.queryOnce(statementOf(args)),
    });
  }

  /**
   * Of these locked jobs, those that no worker of this process runs; undefined: unknown at the
   * moment.
   */
  strandedAmong(ids: readonly string[]): readonly string[] | undefined {
    // A job that is being fetched may be locked already.
    return this.fetching > 0 ? undefined : ids.filter((id) => !this.inHand.has(id));
  }

  /** Takes all connections away from the library; its pending statements are never answered. */
  close(): void {
    this.closing.abort();
    for (const release of [...this.lent]) release(true);
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  private async lend(): Promise<PoolClient> {
    for (let failures = 0; ; failures++) {
      const client = await this.connections.connect().catch(() => undefined);
      if (this.isClosed) {
        client?.release(true);
        return never();
      }
      if (client) return this.lentOut(client);
      await pause(backOffMs(failures, RETRY), this.closing.signal);
    }
  }

  /** The library may release it once more after it was taken away. */
  private lentOut(client: PoolClient): PoolClient {
    const release: Release = (error) => {
      if (this.lent.delete(release)) client.release(error);
    };
    this.lent.add(release);
    return overriding(client, {
      query: (...args: unknown[]): Promise<QueryResult> =>
        this.ask(client, release, statementOf(args)),
      release,
    });
  }

  /**
   * The connection that listens for new jobs. When it falls silent the library receives an error
   * and opens another one.
   */
  private async listen(onListening: OnListening): Promise<void> {
    const client = await this.lend();
    const release: Release = (error) => {
      end();
      client.release(error);
    };
    const end = probed(
      () => client.query('select 1'),
      PROBE,
      () => {
        client.emit('error', new QueueAway('the connection for new jobs does not answer'));
        release(true);
      },
    );
    this.closing.signal.addEventListener('abort', end, { once: true });
    onListening(undefined, client, release);
  }

  private async queryOnce(statement: Statement): Promise<QueryResult> {
    const client = await this.lend();
    try {
      return await client.query(statement);
    } finally {
      client.release();
    }
  }

  private async ask(
    client: PoolClient,
    release: Release,
    statement: Statement,
  ): Promise<QueryResult> {
    if (this.isClosed) return never();
    if (statement.name?.startsWith(FETCH)) return this.fetch(client, statement);
    if (SETTLE.test(statement.name ?? '')) return this.settle(client, release, statement);
    try {
      return await client.query(withTimeLimit(statement));
    } catch (error) {
      if (this.isClosed) return never();
      throw isUnavailable(error) ? new QueueAway('the database is away', { cause: error }) : error;
    }
  }

  private async fetch(client: PoolClient, statement: Statement): Promise<QueryResult> {
    this.fetching += 1;
    try {
      const found = await client.query<{ id: string }>(withTimeLimit(statement));
      for (const { id } of found.rows) this.inHand.add(id);
      return found;
    } catch (error) {
      if (this.isClosed) return await never();
      if (!isUnavailable(error))
        this.logger.warn({ code: errorCode(error) }, 'a job could not be fetched');
      return NOTHING;
    } finally {
      this.fetching -= 1;
    }
  }

  /**
   * Gives up only on permanent errors: the job stays locked then, is found stranded, and runs
   * again.
   */
  private async settle(
    client: PoolClient,
    release: Release,
    statement: Statement,
  ): Promise<QueryResult> {
    let attempt = (): Promise<QueryResult> => client.query(withTimeLimit(statement));
    for (let failures = 0; ; failures++) {
      try {
        const done = await attempt();
        this.letGo(statement);
        return done;
      } catch (error) {
        if (this.isClosed) return never();
        if (!isUnavailable(error)) {
          this.logger.warn({ code: errorCode(error) }, 'the outcome of a job could not be noted');
          this.letGo(statement);
          return NOTHING;
        }
        // The next try uses another connection; holding this one would only block others.
        release(true);
        attempt = () => this.connections.query(withTimeLimit(statement));
        await pause(backOffMs(failures, RETRY), this.closing.signal);
      }
    }
  }

  private letGo(statement: Statement): void {
    for (const id of jobsOf(statement)) this.inHand.delete(id);
  }
}

const NOTHING: QueryResult = { rows: [], rowCount: 0, command: '', oid: 0, fields: [] };

const never = (): Promise<never> => new Promise(() => undefined);

function statementOf([first, values]: readonly unknown[]): Statement {
  return typeof first === 'string'
    ? { text: first, ...(Array.isArray(values) ? { values } : {}) }
    : (first as Statement);
}

/** pg reads `query_timeout` from a statement, too; its types lack it. */
const withTimeLimit = (statement: Statement): Statement & { readonly query_timeout: number } => ({
  ...statement,
  query_timeout: ANSWER_WITHIN_MS,
});

/**
 * `complete_job` has the id or ids as a value, `fail_job` a text of JSON with an object per job.
 */
function jobsOf({ name = '', values = [] }: Statement): readonly string[] {
  if (name.startsWith('complete_')) return [values[0]].flat().map(String);
  return (JSON.parse(String(values[1])) as readonly { readonly jobId: string }[]).map(
    ({ jobId }) => jobId,
  );
}

/** The same object but for these methods. */
function overriding<T extends object>(object: T, methods: Readonly<Record<string, unknown>>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (typeof name === 'string' && Object.hasOwn(methods, name)) return methods[name];
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
