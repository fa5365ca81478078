/**
 * Upper bound of the Postgres connections of each part of a process; together at most
 * DATABASE_CONNECTIONS_MAX.
 */
export interface ConnectionBudget {
  /** Requests and commands. */
  readonly requests: number;
  /**
   * Presence, the two notification channels, the leases, and the batches of the read models,
   * policies, webhooks and the sealer.
   */
  readonly background: number;
  /** One listens for new jobs, two work, one records outcomes, one fetches new jobs. */
  readonly jobs: number;
  /** Readers of a log in Postgres. */
  readonly logReaders: number;
  /**
   * Operations on read models over HTTP, all together: one connection holds the lock, one a
   * snapshot, one does the work.
   */
  readonly operations: number;
  /**
   * Exports: a snapshot for each of two that are written, and their chunks; 0: they share those of
   * operations.
   */
  readonly exports: number;
  /** Searches, and other reads that may read many rows; 0: one at a time among the requests. */
  readonly slowReads: number;
}

type Share = keyof ConnectionBudget;

/** With fewer, a part would wait for another one until it times out. */
const LEAST: ConnectionBudget = {
  requests: 3,
  background: 9,
  jobs: 4,
  logReaders: 1,
  operations: 3,
  exports: 0,
  slowReads: 0,
};
/** The useful maximum; the rest is for requests. */
const MOST: Omit<ConnectionBudget, 'requests' | 'exports'> = {
  background: 12,
  jobs: 5,
  logReaders: 4,
  operations: 3,
  slowReads: 3,
};
/** Of two exports at once: a snapshot each, and two that store what they read. */
const EXPORTS = 4;

/**
 * Outside these pools: the log's writer and its listener, and the connection that keeps the
 * embedded server running.
 */
const SINGLE = 3;

const sum = (budget: Readonly<Record<Share, number>>): number => {
  let all = 0;
  for (const share of Object.values(budget)) all += share;
  return all;
};

export const CONNECTIONS_MIN = sum(LEAST) + SINGLE;

/** @param config with a maximum of at least `CONNECTIONS_MIN`. */
export function connectionBudget({
  databaseConnectionsMax,
}: {
  readonly databaseConnectionsMax: number;
}): ConnectionBudget {
  const budget: Record<Share, number> = { ...LEAST };
  let left = databaseConnectionsMax - SINGLE - sum(LEAST);
  // All or none: fewer would not do for two exports.
  if (left >= 2 * EXPORTS) {
    budget.exports = EXPORTS;
    left -= EXPORTS;
  }
  while (left > 0) {
    // Every second one is for requests; the others go to the pool furthest below its maximum.
    const missing = (Object.keys(MOST) as (keyof typeof MOST)[]).filter(
      (share) => budget[share] < MOST[share],
    );
    const [neediest] = missing.sort((a, b) => MOST[b] - budget[b] - (MOST[a] - budget[a]));
    const share: Share = neediest === undefined || left % 2 === 0 ? 'requests' : neediest;
    budget[share] += 1;
    left -= 1;
  }
  return budget;
}
