import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { errorCode, errorMessage } from '../foundation/error-code.js';

export interface PoolOptions {
  /** A function is called at every connect: the embedded server's socket may move. */
  readonly url: string | (() => string);
  readonly max: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** The server ends a statement after this time. Default: no limit. */
  readonly statementTimeoutMs?: number;
}

/** How long a caller waits for a connection, a new one or a free one of the pool. */
const CONNECT_WAIT_MS = 5_000;
/** After the statement timeout plus this, the network or the machine is gone. */
const SILENCE_MARGIN_MS = 2_000;

const INT8 = 20;
const INT8_ARRAY = 1016;

/** The database is unavailable or late. The statement may or may not have run. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/**
 * A pool of connections. `bigint` columns and counts are `BigInt`. A broken idle connection is
 * dropped silently; the next caller has a new one, or an error for which `isUnavailable` holds.
 */
export function openPool({ url, max, applicationName, statementTimeoutMs }: PoolOptions): pg.Pool {
  const currentUrl = typeof url === 'string' ? () => url : url;
  class Connection extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      super({ ...config, connectionString: currentUrl() });
      // Without a listener a connection that breaks between two statements would end the process.
      this.on('error', () => undefined);
      dropWhenSilent(this);
    }
  }
  const pool = new pg.Pool({
    Client: Connection,
    max,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_WAIT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    client_encoding: 'UTF8',
    types: { getTypeParser },
    ...(statementTimeoutMs === undefined
      ? {}
      : {
          statement_timeout: statementTimeoutMs,
          query_timeout: statementTimeoutMs + SILENCE_MARGIN_MS,
        }),
  });
  pool.on('error', () => undefined);
  return pool;
}

/** Keeps pg from reusing a silent connection with a statement that still runs. */
function dropWhenSilent(connection: pg.Client): void {
  // One function for all of pg's overloads: arguments and result pass through.
  const ask = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  const watched = (...args: unknown[]): unknown => {
    const answer = ask(...args);
    if (answer instanceof Promise) {
      answer.catch((error: unknown) => {
        if (errorMessage(error) === 'Query read timeout') connection.end().catch(() => undefined);
      });
    }
    return answer;
  };
  connection.query = watched as pg.Client['query'];
}

/** Closes a connection without an answer. @throws for which `isUnavailable` holds. */
export async function ping(db: pg.Pool | pg.ClientBase, withinMs: number): Promise<void> {
  // pg reads the limit from a statement, too; its types lack it.
  const statement = { text: 'select 1', query_timeout: withinMs };
  await db.query(statement);
}

/** Kysely over a pool. Its `destroy` ends the pool: call either, once. */
export function kyselyOver<DB>(pool: pg.Pool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
}

// Declared by overloads in pg. Text is parsed here, binary results (never requested) by pg.
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (
  type: number,
  format?: 'text' | 'binary',
): ((value: string) => unknown) => {
  if (format === 'binary')
    return pg.types.getTypeParser(type, 'binary') as (value: string) => unknown;
  if (type === INT8) return BigInt;
  const parse = pg.types.getTypeParser(type, 'text') as (value: string) => unknown;
  return type === INT8_ARRAY ? (text: string) => toBigInts(parse(text)) : parse;
};

/** pg returns arrays of `bigint` as (nested) arrays of digits. */
function toBigInts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBigInts);
  return typeof value === 'string' ? BigInt(value) : value;
}

/** SQLSTATE prefixes: the statement may succeed a moment later. */
const UNAVAILABLE_STATES = [
  '08', // the connection broke
  '25006', // read-only: the server is not, or no longer, the primary
  '25P03', // idle in a transaction for too long
  '40', // rolled back: a deadlock, a serialisation failure, a conflict with recovery
  '53', // no room on the disk, no memory, no connection left
  '55P03', // a lock was not granted in time
  '57', // cut off by its time limit or by an operator; shutting down, crashed, starting up
  '58030', // the disk failed
] as const;

const UNAVAILABLE_ERRNOS: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Of a Unix socket: the server is down or has too many callers. */
const UNAVAILABLE_SOCKET_ERRNOS: ReadonlySet<string> = new Set(['ENOENT', 'EAGAIN']);

// pg reports these without any code.
const UNAVAILABLE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end)/;

/**
 * The one classification of errors for all pools, adapters and background loops. True when the
 * database is unavailable, refuses to write or rolled back: the API returns 503, loops retry. False
 * for a wrong statement, such as a violated constraint or a syntax error.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  const code = errorCode(error);
  if (
    code !== undefined &&
    (UNAVAILABLE_ERRNOS.has(code) ||
      UNAVAILABLE_STATES.some((state) => code.startsWith(state)) ||
      (UNAVAILABLE_SOCKET_ERRNOS.has(code) && isOfConnect(error)))
  )
    return true;
  if (UNAVAILABLE_MESSAGES.test(errorMessage(error))) return true;
  return causesOf(error).some(isUnavailable);
}

/** The next try is refused, too. */
const NO_WRITES_STATES: ReadonlySet<string> = new Set([
  '25006', // read-only
  '53100', // no room on the disk
]);

/** The server accepts no writes until someone repairs it. */
export const rejectsWrites = (error: unknown): boolean =>
  NO_WRITES_STATES.has(errorCode(error) ?? '');

/** Unavailable by the server's own answer: other statements may succeed. */
export const isRefusedByServer = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && isUnavailable(error);

const isOfConnect = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'syscall' in error && error.syscall === 'connect';

/** Node puts the errors of a host's addresses into one error. */
function causesOf(error: unknown): readonly unknown[] {
  if (typeof error !== 'object' || error === null) return [];
  const causes: unknown[] = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  return 'cause' in error && error.cause !== undefined ? [...causes, error.cause] : causes;
}
