import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { lagAfter, stillSeconds, type Lag } from '../../event-log/lag.js';
import { fetchRows } from '../../postgres/statements.js';
import { GENERATIONS } from '../checkpoints.js';
import { isFollowedBy, type ReadModel } from '../generations/generations.js';
import { UNREADABLE } from '../projecting-errors.js';

/** The state of a projection, for the health page, the metrics and the command line. */
export interface ProjectionStatus extends Lag {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | null;
  readonly head: Position | null;
  readonly parkedStreams: number;
  /** Those with an event that could not be decoded. */
  readonly unreadableStreams: number;
  /** Streams that continue without an event that an operator skipped. */
  readonly skipped: number;
  /** Reason of the newest parked stream; null: none is parked. */
  readonly parkedBecause: string | null;
  readonly lastError: string | null;
  /** Last move of the checkpoint, epoch milliseconds. */
  readonly updatedAt: number;
  /** How long it has not moved although there are events. */
  readonly stillSeconds: number;
}

/** Lagging projections share reads. @throws when database or log is unavailable. */
export async function projectionStatus(
  pool: Pool,
  log: EventLog,
  readModels: readonly ReadModel[],
  now: number,
): Promise<ProjectionStatus[]> {
  const [rows, head] = await Promise.all([
    fetchRows(pool, COUNTED.where(isFollowedBy(readModels))),
    log.head(),
  ]);
  const lags = new Map<Position | null, Promise<Lag>>();
  const lagAt = (position: Position | null): Promise<Lag> => {
    const known = lags.get(position) ?? lagAfter(log, position ?? undefined, head, now);
    lags.set(position, known);
    return known;
  };
  return Promise.all(
    rows.map(async ({ version: _, ...row }) => {
      const lag = await lagAt(row.position);
      const still = stillSeconds(lag, row.updatedAt, now);
      return { ...row, head: head ?? null, ...lag, stillSeconds: still };
    }),
  );
}

const COUNTED = GENERATIONS.innerJoinLateral(
  (eb) =>
    eb
      .selectFrom('ledger.parked_streams as s')
      .whereRef('s.projection', '=', 'g.projection')
      .whereRef('s.generation', '=', 'g.generation')
      .select([
        sql<number>`count(*)::integer`.as('parkedStreams'),
        sql<number>`count(*) filter (where starts_with(s.reason, ${UNREADABLE}))::integer`.as(
          'unreadableStreams',
        ),
        sql<string | null>`(array_agg(s.reason order by s.parked_at desc, s.stream))[1]`.as(
          'parkedBecause',
        ),
      ])
      .as('parked'),
  (join) => join.onTrue(),
)
  .innerJoinLateral(
    (eb) =>
      eb
        .selectFrom('ledger.skipped_events as e')
        .whereRef('e.projection', '=', 'g.projection')
        .whereRef('e.generation', '=', 'g.generation')
        .select(sql<number>`count(distinct e.stream)::integer`.as('skipped'))
        .as('left_out'),
    (join) => join.onTrue(),
  )
  .select(['parkedStreams', 'unreadableStreams', 'parkedBecause', 'skipped']);
