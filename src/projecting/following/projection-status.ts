import type { Pool } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { liveCheckpoints } from '../checkpoints.js';

/** How a projection is doing, for the health page, the metrics and the command line. */
export interface ProjectionStatus {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | null;
  readonly head: Position | null;
  /** Events after the position, counted up to `LAG_EVENTS_MAX`; that number means: as many or more. */
  readonly lagEvents: number;
  /** Age of the oldest event that is not applied; 0 at the head. */
  readonly lagSeconds: number;
  readonly parkedStreams: number;
  readonly lastError: string | null;
  /** Epoch milliseconds of the last move of the checkpoint. */
  readonly updatedAt: number;
}

export const LAG_EVENTS_MAX = 1_000;

/**
 * @throws when the database or the log is away. Costs two small queries and the log's head; only a projection that lags has a page
 * of the log read for it, once for all that stand at the same position.
 */
export async function projectionStatus(
  pool: Pool,
  log: EventLog,
  projections: readonly string[],
  now: number,
): Promise<ProjectionStatus[]> {
  const [checkpoints, head, parked] = await Promise.all([liveCheckpoints(pool, projections), log.head(), parkedCounts(pool)]);
  const lags = new Map<Position | undefined, Promise<Lag>>();
  const lagAt = (position: Position | undefined): Promise<Lag> => {
    const known = lags.get(position) ?? lagAfter(log, position, head, now);
    lags.set(position, known);
    return known;
  };
  return Promise.all(
    checkpoints.map(async ({ projection, generation, position, lastError, updatedAt }) => ({
      projection,
      generation,
      position: position ?? null,
      head: head ?? null,
      ...(await lagAt(position)),
      parkedStreams: parked.get(`${projection} ${generation}`) ?? 0,
      lastError,
      updatedAt,
    })),
  );
}

type Lag = Pick<ProjectionStatus, 'lagEvents' | 'lagSeconds'>;

/** How far the head is ahead of a position. @throws {EventLogUnavailable} */
export async function lagAfter(log: EventLog, position: Position | undefined, head: Position | undefined, now: number): Promise<Lag> {
  if (log.compare(position, head) >= 0) return { lagEvents: 0, lagSeconds: 0 };
  const behind = await log.readAll(position, LAG_EVENTS_MAX);
  const oldest = behind[0];
  return { lagEvents: behind.length, lagSeconds: oldest ? Math.max(0, now - oldest.recordedAt) / 1_000 : 0 };
}

async function parkedCounts(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ key: string; count: number }>(
    `select projection || ' ' || generation as key, count(*)::integer as count from ledger.parked_streams group by projection, generation`,
  );
  return new Map(rows.map(({ key, count }) => [key, count]));
}
