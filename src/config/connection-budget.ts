/** Limits of a process's Postgres connections by part; together DATABASE_CONNECTIONS_MAX. */
export interface ConnectionBudget {
  readonly requests: number;
  /** Presence, announcements, leases, and the batches of followers and the sealer. */
  readonly background: number;
  /** Two jobs run; other connections claim and record. */
  readonly jobs: number;
  /** Readers of a log in Postgres. */
  readonly logReaders: number;
  /**
   * Operations on read models over HTTP in total (one connection each for lock, snapshot and work),
   * the snapshots of exports, and the temporary tables of imports.
   */
  readonly operations: number;
}

type Shares = Omit<ConnectionBudget, 'requests'>;

/** With fewer, one part would wait for another until a timeout. */
const SHARES_MIN: Shares = { background: 9, jobs: 4, logReaders: 1, operations: 3 };
const USUAL: Shares = { background: 9, jobs: 4, logReaders: 3, operations: 7 };
const USUAL_FROM = 31;
const REQUESTS_MIN = 3;

/** Outside these pools: the log's writer and listener, and the embedded server's keep-alive. */
const SINGLE = 3;

const sum = ({ background, jobs, logReaders, operations }: Shares): number =>
  background + jobs + logReaders + operations;

export const CONNECTIONS_MIN = REQUESTS_MIN + sum(SHARES_MIN) + SINGLE;

/** @param config with a maximum of at least `CONNECTIONS_MIN`. */
export function connectionBudget({
  databaseConnectionsMax: max,
}: {
  readonly databaseConnectionsMax: number;
}): ConnectionBudget {
  const shares = max < USUAL_FROM ? SHARES_MIN : USUAL;
  return { ...shares, requests: max - SINGLE - sum(shares) };
}
