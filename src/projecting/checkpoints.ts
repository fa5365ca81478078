import type { Pool, PoolClient } from 'pg';
import type { Position } from '../event-log/event-log.js';
import { batched } from '../foundation/batched.js';
import {
  compiledOnce,
  epochMs,
  fetchRows,
  run,
  tables,
  type Given,
} from '../postgres/statements.js';
import {
  isFollowedBy,
  isFollowedWith,
  namedTablesOf,
  type ReadModel,
} from './generations/generations.js';
import { UNREADABLE } from './projecting-errors.js';

export interface Checkpoint {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | undefined;
  /** Grows with every write; a decimal text. */
  readonly version: string;
  readonly lastError: string | null;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** Of the generations that the release with these tables follows. */
export async function liveCheckpoints(
  pool: Pool | PoolClient,
  readModels: readonly ReadModel[],
): Promise<Checkpoint[]> {
  const rows = await fetchRows(pool, LIVE(namedTablesOf(readModels)));
  return rows.map((row) => ({ ...row, position: row.position ?? undefined }));
}

/** Generations `g` with their checkpoints `c`. */
export const GENERATIONS = tables
  .selectFrom('ledger.projection_generations as g')
  .innerJoin('ledger.projection_checkpoints as c', (join) =>
    join.onRef('c.projection', '=', 'g.projection').onRef('c.generation', '=', 'g.generation'),
  )
  .select((eb) => [
    'g.projection',
    'g.generation',
    'c.position',
    eb.cast<string>('c.version', 'text').as('version'),
    'c.last_error as lastError',
    epochMs(eb.ref('c.updated_at')).as('updatedAt'),
  ]);

const LIVE = compiledOnce(
  'projection_checkpoints.live',
  (given: Given<ReturnType<typeof namedTablesOf>>) => GENERATIONS.where(isFollowedWith(given)),
);

/** A checkpoint of a generation in whose rows nothing changes. */
export interface CheckpointMove {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position;
  /** Null: the stored one stays. */
  readonly witness: string | null;
  readonly expectedVersion: string;
}

/**
 * Moves checkpoints. Most events change the rows of one or two projections, so the others share a
 * statement. False: the checkpoint has another version. The rows are locked in one order, since a
 * process that no longer leads may write as well.
 */
export const checkpointMoves = (pool: Pool): ((move: CheckpointMove) => Promise<boolean>) =>
  batched(async (moves) => {
    const { rows } = await pool.query<{ projection: string; generation: number }>({
      name: 'projection_checkpoints.move',
      text: `
        with wanted as (
          select w.* from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bigint[])
            as w (projection, generation, position, witness, version)
          join ledger.projection_checkpoints c using (projection, generation)
          order by projection, generation for update of c
        ), moved as (
          update ledger.projection_checkpoints c
          set position = w.position, witness = coalesce(w.witness, c.witness), version = c.version + 1, updated_at = now(), last_error = null
          from wanted w
          where (c.projection, c.generation, c.version) = (w.projection, w.generation, w.version)
          returning c.projection, c.generation
        )
        select projection, generation, set_config('synchronous_commit', 'off', true) from moved`,
      values: [
        moves.map(({ projection }) => projection),
        moves.map(({ generation }) => generation),
        moves.map(({ position }) => position),
        moves.map(({ witness }) => witness),
        moves.map(({ expectedVersion }) => expectedVersion),
      ],
    });
    return moves.map(({ projection, generation }) =>
      rows.some((row) => row.projection === projection && row.generation === generation),
    );
  });

/** Streams `s` that are parked for a generation `g` with its checkpoint `c`. */
const PARKED = tables
  .selectFrom('ledger.parked_streams as s')
  .innerJoin('ledger.projection_generations as g', (join) =>
    join.onRef('g.projection', '=', 's.projection').onRef('g.generation', '=', 's.generation'),
  )
  .innerJoin('ledger.projection_checkpoints as c', (join) =>
    join.onRef('c.projection', '=', 's.projection').onRef('c.generation', '=', 's.generation'),
  );

/** Records the error that stops a projection; the next successful write clears it. */
export async function recordLastError(
  pool: Pool,
  projection: string,
  generation: number,
  error: string,
): Promise<void> {
  await run(
    pool,
    tables
      .updateTable('ledger.projection_checkpoints')
      .set({ last_error: error })
      .where((eb) => eb.and({ projection, generation }))
      .where('last_error', 'is distinct from', error),
  );
}

/** Streams after this name whose event no release so far could decode, with its revision. */
export async function unreadableStreams(
  pool: Pool,
  { projection, generation }: Pick<Checkpoint, 'projection' | 'generation'>,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<{ stream: string; revision: bigint }[]> {
  return fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams')
      .select(['stream', 'revision'])
      .where((eb) => eb.and({ projection, generation }))
      .where('reason', 'like', `${UNREADABLE}%`)
      .where('stream', '>', after)
      .orderBy('stream')
      .limit(limit),
  );
}

/** All unreadable streams of a generation that the release with these tables follows. */
export async function allUnreadableStreams(
  pool: Pool,
  readModels: readonly ReadModel[],
): Promise<string[]> {
  const rows = await fetchRows(
    pool,
    PARKED.select('s.stream')
      .distinct()
      .where(isFollowedBy(readModels))
      .where('s.reason', 'like', `${UNREADABLE}%`),
  );
  return rows.map(({ stream }) => stream);
}

export type ParkedStream = Awaited<ReturnType<typeof listParkedStreams>>[number];

/** Of the generations that this release follows, newest first; undefined: all streams. */
export async function listParkedStreams(
  pool: Pool,
  readModels: readonly ReadModel[],
  { limit, stream }: { readonly limit: number; readonly stream?: string | undefined },
) {
  return fetchRows(
    pool,
    PARKED.select((eb) => [
      's.projection',
      's.stream',
      /** Of the event that cannot be applied, in the log and in its stream. */
      's.position',
      /** Names the place of an error, never a person. */
      's.reason',
      's.revision',
      /** Position of the read model. */
      'c.position as reached',
      epochMs(eb.ref('s.parked_at')).as('since'),
    ])
      .where(isFollowedBy(readModels))
      .$if(stream !== undefined, (query) => query.where('s.stream', '=', stream ?? ''))
      .orderBy('s.parked_at', 'desc')
      .orderBy('s.projection')
      .orderBy('s.stream')
      .limit(limit),
  );
}

/** The streams that are parked for a generation. */
export async function parkedStreams(
  pool: Pool | PoolClient,
  projection: string,
  generation: number,
): Promise<string[]> {
  const rows = await fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams')
      .select('stream')
      .where((eb) => eb.and({ projection, generation })),
  );
  return rows.map((row) => row.stream);
}

/** An event that an operator excluded from the rows of a generation. */
export interface SkippedEvent {
  readonly stream: string;
  readonly position: Position;
}

export const skippedEvents = (
  db: Pool | PoolClient,
  { projection, generation }: Pick<Checkpoint, 'projection' | 'generation'>,
): Promise<SkippedEvent[]> =>
  fetchRows(
    db,
    tables
      .selectFrom('ledger.skipped_events')
      .select(['stream', 'position'])
      .where((eb) => eb.and({ projection, generation })),
  );
