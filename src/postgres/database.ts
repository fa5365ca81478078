import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { errorCode, errorMessage } from '../foundation/error-code.js';

export interface PoolOptions {
  /**
   * A function is called at every connect: after a crash the embedded server's socket may be in
   * another folder.
   */
  readonly url: string | (() => string);
  /** Limit of connections. */
  readonly max: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** A statement that runs longer is cut off by the server. Default: no limit. */
  readonly statementTimeoutMs?: number;
}

/** How long a caller waits for a connection, a new one or a free one of the pool. */
const CONNECT_WAIT_MS = 5_000;
/** A server that does not even report its own time-out: the network or the machine is gone. */
const SILENCE_MARGIN_MS = 2_000;

const INT8 = 20;
const INT8_ARRAY = 1016;

/**
 * The database cannot be reached, or did not answer in time. The statement may or may not have run.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/**
 * A pool of connections. `bigint` columns (and counts) arrive as `BigInt`. An
 * idle connection that breaks is dropped silently; the next caller has a new one, or an error for
 * which `isUnavailable` holds.
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

/**
 * A connection whose server does not answer (frozen, or the network drops packets) is closed when
 * the wait for a statement times out: pg itself would keep it, and hand it to the next caller with
 * the unanswered statement still running.
 */
function dropWhenSilent(connection: pg.Client): void {
  // One function for all of pg's overloads: arguments and result are passed through.
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

/**
 * A query that only checks the connection, which is closed without an answer in time.
 * @throws for which `isUnavailable` holds.
 */
export async function ping(db: pg.Pool | pg.ClientBase, withinMs: number): Promise<void> {
  // pg reads the limit from a statement, too; its types lack it.
  const statement = { text: 'select 1', query_timeout: withinMs };
  await db.query(statement);
}

/** Kysely over a pool. Its `destroy` ends the pool: call either, once. */
export function kyselyOver<DB>(pool: pg.Pool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
}

// Declared by overloads in pg: text is parsed here, binary results (never requested) by pg's own
// parsers.
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

/**
 * States (SQLSTATE) that are no fault of the statement, by their beginning: the same statement may
 * succeed a moment later, on this server or on its successor.
 */
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

/**
 * Of a Unix socket: the server is down and took its socket along, or has more callers waiting than
 * it keeps. Other calls have these codes for other reasons.
 */
const UNAVAILABLE_SOCKET_ERRNOS: ReadonlySet<string> = new Set(['ENOENT', 'EAGAIN']);

// pg reports these without any code.
const UNAVAILABLE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end)/;

/**
 * The one classification of errors for all pools, adapters and background loops. True when the
 * database is away, refuses to write or rolled back, rather than the statement wrong: the API
 * returns 503, loops retry. A constraint or a syntax error does not count.
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

/** Of these the next try is refused, too. */
const NO_WRITES_STATES: ReadonlySet<string> = new Set([
  '25006', // read-only
  '53100', // no room on the disk
]);

/** The server took no write, and takes none until somebody changes that. */
export const takesNoWrites = (error: unknown): boolean =>
  NO_WRITES_STATES.has(errorCode(error) ?? '');

/** Unavailable, and the server itself said so: it answers, and other statements may succeed. */
export const isRefusedByServer = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && isUnavailable(error);

const isOfConnect = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'syscall' in error && error.syscall === 'connect';

/**
 * Node reports a host with several addresses as one error with an error per address in `errors`.
 */
function causesOf(error: unknown): readonly unknown[] {
  if (typeof error !== 'object' || error === null) return [];
  const causes: unknown[] = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  return 'cause' in error && error.cause !== undefined ? [...causes, error.cause] : causes;
}
