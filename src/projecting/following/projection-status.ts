import type { Pool } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { lagAfter, stillSeconds, type Lag } from '../../event-log/lag.js';
import { fetchRows, tables } from '../../postgres/statements.js';
import { liveCheckpoints } from '../checkpoints.js';

/** The state of a projection, for the health page, the metrics and the command line. */
export interface ProjectionStatus extends Lag {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | null;
  readonly head: Position | null;
  readonly parkedStreams: number;
  readonly lastError: string | null;
  /** Epoch milliseconds of the last move of the checkpoint. */
  readonly updatedAt: number;
  /** How long it has stood still although there are events. */
  readonly stillSeconds: number;
}

/**
 * @throws when the database or the log is unavailable. Costs two small queries and the log's head;
 * only a lagging projection reads a page of the log, once for all at the same position.
 */
export async function projectionStatus(
  pool: Pool,
  log: EventLog,
  projections: readonly string[],
  now: number,
): Promise<ProjectionStatus[]> {
  const [checkpoints, head, parked] = await Promise.all([
    liveCheckpoints(pool, projections),
    log.head(),
    parkedCounts(pool),
  ]);
  const lags = new Map<Position | undefined, Promise<Lag>>();
  const lagAt = (position: Position | undefined): Promise<Lag> => {
    const known = lags.get(position) ?? lagAfter(log, position, head, now);
    lags.set(position, known);
    return known;
  };
  return Promise.all(
    checkpoints.map(async ({ projection, generation, position, lastError, updatedAt }) => {
      const lag = await lagAt(position);
      return {
        projection,
        generation,
        position: position ?? null,
        head: head ?? null,
        ...lag,
        parkedStreams: parked.get(`${projection} ${generation}`) ?? 0,
        lastError,
        updatedAt,
        stillSeconds: stillSeconds(lag, updatedAt, now),
      };
    }),
  );
}

async function parkedCounts(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const rows = await fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams')
      .select((eb) => ['projection', 'generation', eb.fn.countAll<bigint>().as('count')])
      .groupBy(['projection', 'generation']),
  );
  return new Map(
    rows.map(({ projection, generation, count }) => [`${projection} ${generation}`, Number(count)]),
  );
}
