/**
 * Upper bound of the Postgres connections of each part of a process; together at most
 * DATABASE_CONNECTIONS_MAX.
 */
export interface ConnectionBudget {
  /** Requests and commands. */
  readonly requests: number;
  /**
   * Presence, announcements, the leases, and the batches of the read models, policies, webhooks and
   * the sealer.
   */
  readonly background: number;
  /** Two jobs work, others claim and record. */
  readonly jobs: number;
  /** Readers of a log in Postgres. */
  readonly logReaders: number;
  /**
   * Operations on read models over HTTP, all together (one connection holds the lock, one a
   * snapshot, one does the work), the snapshots of exports, and the temporary tables of imports.
   */
  readonly operations: number;
}

type Shares = Omit<ConnectionBudget, 'requests'>;

/** With fewer, a part would wait for another one until it times out. */
const LEAST: Shares = { background: 9, jobs: 4, logReaders: 1, operations: 3 };
const USUAL: Shares = { background: 9, jobs: 4, logReaders: 3, operations: 7 };
const USUAL_FROM = 31;
const REQUESTS_MIN = 3;

/**
 * Outside these pools: the log's writer and its listener, and the connection that keeps the
 * embedded server running.
 */
const SINGLE = 3;

const sum = ({ background, jobs, logReaders, operations }: Shares): number =>
  background + jobs + logReaders + operations;

export const CONNECTIONS_MIN = REQUESTS_MIN + sum(LEAST) + SINGLE;

/** @param config with a maximum of at least `CONNECTIONS_MIN`. */
export function connectionBudget({
  databaseConnectionsMax: max,
}: {
  readonly databaseConnectionsMax: number;
}): ConnectionBudget {
  const shares = max < USUAL_FROM ? LEAST : USUAL;
  return { ...shares, requests: max - SINGLE - sum(shares) };
}
