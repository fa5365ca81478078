/**
 * Who in a process has how many connections to Postgres, at most; together no more than
 * DATABASE_CONNECTIONS_MAX.
 */
export interface ConnectionBudget {
  /** Requests and commands, all their statements. */
  readonly requests: number;
  /**
   * Presence, the two announcements, three leases, and the batches of the read models, policies and
   * the sealer.
   */
  readonly background: number;
  /** One hears of new jobs, two work, one notes what became of them, one takes new ones. */
  readonly jobs: number;
  /** Readers of a log in Postgres. */
  readonly logReaders: number;
  /**
   * Operations on read models over HTTP, all together: one holds the lock, one a snapshot, one does
   * the rest.
   */
  readonly operations: number;
}

type Share = keyof ConnectionBudget;

/** With fewer, one part would wait for another one until its time is up. */
const LEAST: ConnectionBudget = {
  requests: 3,
  background: 9,
  jobs: 4,
  logReaders: 1,
  operations: 3,
};
/** More would not be used; requests take what is left. */
const MOST: Omit<ConnectionBudget, 'requests'> = {
  background: 12,
  jobs: 5,
  logReaders: 4,
  operations: 3,
};
/**
 * Outside these pools: the log's writer and its listener, and the one that keeps the embedded
 * server.
 */
const SINGLE = 3;

const sum = ({ requests, background, jobs, logReaders, operations }: ConnectionBudget): number =>
  requests + background + jobs + logReaders + operations;

export const CONNECTIONS_MIN = sum(LEAST) + SINGLE;

/** @param config with a maximum of at least `CONNECTIONS_MIN`. */
export function connectionBudget({
  databaseConnectionsMax,
}: {
  readonly databaseConnectionsMax: number;
}): ConnectionBudget {
  const budget: Record<Share, number> = { ...LEAST };
  let left = databaseConnectionsMax - SINGLE - sum(LEAST);
  while (left > 0) {
    // Every second one goes to requests; the others to whoever is furthest from its most.
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
