import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { lagAfter, stillSeconds, type Lag } from '../../event-log/lag.js';
import { fetchRows, tables } from '../../postgres/statements.js';
import { liveCheckpoints } from '../checkpoints.js';
import type { ReadModel } from '../generations/generations.js';
import { UNREADABLE } from '../projecting-errors.js';

/** The state of a projection, for the health page, the metrics and the command line. */
export interface ProjectionStatus extends Lag {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | null;
  readonly head: Position | null;
  readonly parkedStreams: number;
  /** Those of them with an event that could not be decoded. */
  readonly unreadableStreams: number;
  /** Streams that continue without an event that an operator skipped. */
  readonly skipped: number;
  /** Why the stream that was parked last is; null: none is parked. */
  readonly parkedBecause: string | null;
  readonly lastError: string | null;
  /** Epoch milliseconds of the last move of the checkpoint. */
  readonly updatedAt: number;
  /** How long it has stood still although there are events. */
  readonly stillSeconds: number;
}

/**
 * @throws when the database or the log is unavailable. Costs three small queries and the head of
 * the log; only a lagging projection reads a page, once for all at the same position.
 */
export async function projectionStatus(
  pool: Pool,
  log: EventLog,
  readModels: readonly ReadModel[],
  now: number,
): Promise<ProjectionStatus[]> {
  const [checkpoints, head, parked, skipped] = await Promise.all([
    liveCheckpoints(pool, readModels),
    log.head(),
    parkedCounts(pool),
    skippedCounts(pool),
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
        ...(parked.get(`${projection} ${generation}`) ?? NONE_PARKED),
        skipped: skipped.get(`${projection} ${generation}`) ?? 0,
        lastError,
        updatedAt,
        stillSeconds: stillSeconds(lag, updatedAt, now),
      };
    }),
  );
}

type ParkedCounts = Pick<ProjectionStatus, 'parkedStreams' | 'unreadableStreams' | 'parkedBecause'>;

const NONE_PARKED: ParkedCounts = {
  parkedStreams: 0,
  unreadableStreams: 0,
  parkedBecause: null,
};

async function parkedCounts(pool: Pool): Promise<ReadonlyMap<string, ParkedCounts>> {
  const rows = await fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams')
      .select((eb) => [
        'projection',
        'generation',
        eb.fn.countAll<bigint>().as('parked'),
        eb.fn.countAll<bigint>().filterWhere('reason', 'like', `${UNREADABLE}%`).as('unreadable'),
        sql<string>`(array_agg(reason order by parked_at desc, stream))[1]`.as('because'),
      ])
      .groupBy(['projection', 'generation']),
  );
  return new Map(
    rows.map(({ projection, generation, parked, unreadable, because }) => [
      `${projection} ${generation}`,
      {
        parkedStreams: Number(parked),
        unreadableStreams: Number(unreadable),
        parkedBecause: because,
      },
    ]),
  );
}

async function skippedCounts(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const rows = await fetchRows(
    pool,
    tables
      .selectFrom('ledger.skipped_events')
      .select((eb) => [
        'projection',
        'generation',
        eb.fn.count<bigint>('stream').distinct().as('streams'),
      ])
      .groupBy(['projection', 'generation']),
  );
  return new Map(
    rows.map(({ projection, generation, streams }) => [
      `${projection} ${generation}`,
      Number(streams),
    ]),
  );
}
