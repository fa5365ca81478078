import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Position, SeenEvent } from '../event-log/event-log.js';
import { witnessText } from '../event-log/witness.js';
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

/** The checkpoint of a generation. */
export interface Checkpoint {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | undefined;
  /** Grows with every write; a decimal, passed on as text. */
  readonly version: string;
  readonly lastError: string | null;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** The checkpoints of the generations that the release with these tables follows. */
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

export interface CheckpointMove {
  readonly projection: string;
  readonly generation: number;
  readonly expectedVersion: string;
}

/**
 * Moves several checkpoints over events that none of these projections handles. Returns the names
 * of those that moved; the others had another version. Rows are locked in the order of their names,
 * so two writers cannot deadlock. Raw SQL: the builder has no `unnest` of several lists.
 */
export async function moveCheckpoints(
  pool: Pool,
  moves: readonly CheckpointMove[],
  to: SeenEvent,
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ projection: string }>({
    name: 'projection_checkpoints.move',
    text: `
      with expected as (
        select c.projection, c.generation
        from unnest($2::text[], $3::integer[], $4::bigint[]) as e (projection, generation, version)
        join ledger.projection_checkpoints c on c.projection = e.projection and c.generation = e.generation and c.version = e.version
        order by c.projection, c.generation for update of c),
      relaxed as materialized (select set_config('synchronous_commit', 'off', true))
      update ledger.projection_checkpoints c set position = $1, witness = $5, version = version + 1, updated_at = now(), last_error = null
      from expected, relaxed where c.projection = expected.projection and c.generation = expected.generation
      returning c.projection`,
    values: [
      to.position,
      moves.map((move) => move.projection),
      moves.map((move) => move.generation),
      moves.map((move) => move.expectedVersion),
      witnessText(to),
    ],
  });
  return new Set(rows.map((row) => row.projection));
}

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

/** A stream that is parked for an event that this or an earlier release could not decode. */
export interface UnreadableStream {
  readonly stream: string;
  /** Of that event in its stream. */
  readonly revision: bigint;
}

/** Those of a generation behind this stream, in the order of their names. */
export async function unreadableStreams(
  pool: Pool,
  { projection, generation }: Pick<Checkpoint, 'projection' | 'generation'>,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<UnreadableStream[]> {
  return fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams')
      .select(['stream', sql<bigint>`coalesce(revision, 0)`.as('revision')])
      .where((eb) => eb.and({ projection, generation }))
      .where('reason', 'like', `${UNREADABLE}%`)
      .where('stream', '>', after)
      .orderBy('stream')
      .limit(limit),
  );
}

/** The streams that are unreadable for a generation that the release with these tables follows. */
export async function allUnreadableStreams(
  pool: Pool,
  readModels: readonly ReadModel[],
): Promise<string[]> {
  const rows = await fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams as s')
      .innerJoin('ledger.projection_generations as g', (join) =>
        join.onRef('g.projection', '=', 's.projection').onRef('g.generation', '=', 's.generation'),
      )
      .select('s.stream')
      .distinct()
      .where(isFollowedBy(readModels))
      .where('s.reason', 'like', `${UNREADABLE}%`),
  );
  return rows.map(({ stream }) => stream);
}

/** A stream that an event holds back from a read model. */
export interface ParkedStream {
  readonly projection: string;
  readonly stream: string;
  /** Of the event that cannot be applied. */
  readonly position: Position;
  /** Names the place of an error, and no person. */
  readonly reason: string;
  /** Of that event in its stream. */
  readonly revision: bigint;
  /** Where the read model is. */
  readonly reached: Position | null;
  /** Epoch milliseconds. */
  readonly since: number;
}

/**
 * Of the generations that the release with these tables follows, the newest first.
 * @param stream undefined: all streams.
 */
export async function listParkedStreams(
  pool: Pool,
  readModels: readonly ReadModel[],
  { limit, stream }: { readonly limit: number; readonly stream?: string | undefined },
): Promise<ParkedStream[]> {
  return fetchRows(
    pool,
    tables
      .selectFrom('ledger.parked_streams as s')
      .innerJoin('ledger.projection_generations as g', (join) =>
        join.onRef('g.projection', '=', 's.projection').onRef('g.generation', '=', 's.generation'),
      )
      .innerJoin('ledger.projection_checkpoints as c', (join) =>
        join.onRef('c.projection', '=', 's.projection').onRef('c.generation', '=', 's.generation'),
      )
      .select((eb) => [
        's.projection',
        's.stream',
        's.position',
        's.reason',
        sql<bigint>`coalesce(s.revision, 0)`.as('revision'),
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

/** An event that an operator skipped: the rows of a generation are made without it. */
export interface SkippedEvent {
  readonly stream: string;
  readonly position: Position;
}

/** The events that a generation leaves out. */
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
