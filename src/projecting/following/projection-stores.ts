import type { Pool } from 'pg';
import type { EventLog, SeenEvent } from '../../event-log/event-log.js';
import { AdvisoryLocks, type Locks } from '../../postgres/leadership.js';
import {
  liveCheckpoints,
  moveCheckpoints,
  parkedStreams,
  recordLastError,
  type Checkpoint,
  type CheckpointMove,
} from '../checkpoints.js';
import { GenerationStore, type BatchToWrite } from '../generations/generation-store.js';
import { ensureOwnGenerations, leaderLocksOf } from '../generations/generations.js';
import type { Lookup, Projector, Row } from '../projector.js';
import { unfinishedErasure, type UnfinishedErasure } from './erasure-pieces.js';
import type { NextPiece } from './next-piece.js';
import { projectionStatus, type ProjectionStatus } from './projection-status.js';

/** The rows of one generation. Every method throws while the store is unavailable. */
export interface GenerationRows {
  /** The existing rows under these keys, by table. */
  load(
    keys: ReadonlyMap<string, readonly (readonly string[])[]>,
  ): Promise<readonly { readonly table: string; readonly row: Row }[]>;
  /** The rows of a lookup, limited in number, after that row in the order of the lookup. */
  find(lookup: Lookup, limit: number, after: NextPiece['after']): Promise<readonly Row[]>;
  /**
   * Writes a batch and its checkpoint, both or neither. False: the checkpoint has another version,
   * and nothing was written.
   */
  write(batch: BatchToWrite): Promise<boolean>;
  /** The streams that are parked for it. */
  parkedStreams(): Promise<readonly string[]>;
  /** Its oldest erasure that is not complete in all rows. */
  unfinishedErasure(): Promise<UnfinishedErasure | undefined>;
}

/** What following the log stores, and the locks by which one process leads. */
export interface ProjectionStores {
  readonly locks: Locks;
  /** Makes the generations that this release follows, where they are missing. */
  ensureGenerations(): Promise<unknown>;
  /** Of the generations that this release follows. */
  checkpoints(projectors: readonly Projector[]): Promise<readonly Checkpoint[]>;
  /** Moves those that have the expected version. Returns their names. */
  moveCheckpoints(moves: readonly CheckpointMove[], to: SeenEvent): Promise<ReadonlySet<string>>;
  recordLastError(projection: string, generation: number, error: string): Promise<void>;
  rowsOf(projector: Projector, generation: number): GenerationRows;
  /** @param now epoch milliseconds. */
  status(log: EventLog, now: number): Promise<readonly ProjectionStatus[]>;
}

/** @param pool one of its connections is kept while the projections run: it holds the locks. */
export function postgresProjectionStores(
  pool: Pool,
  projectors: readonly Projector[],
): ProjectionStores {
  const ensureGenerations = () => ensureOwnGenerations(pool, projectors);
  // Processes of a release with other tables follow other generations, under other locks.
  const lockNames = async (): Promise<ReadonlyMap<string, string>> => {
    await ensureGenerations();
    return leaderLocksOf(pool, projectors);
  };
  return {
    locks: new AdvisoryLocks(pool, { lockNames }),
    ensureGenerations,
    checkpoints: (of) => liveCheckpoints(pool, of),
    moveCheckpoints: (moves, to) => moveCheckpoints(pool, moves, to),
    recordLastError: (projection, generation, error) =>
      recordLastError(pool, projection, generation, error),
    rowsOf: (projector, generation) => postgresRowsOf(pool, projector, generation),
    status: (log, now) => projectionStatus(pool, log, projectors, now),
  };
}

/** The rows of one generation in Postgres. */
export function postgresRowsOf(
  pool: Pool,
  projector: Projector,
  generation: number,
): GenerationRows {
  const { name } = projector;
  const store = new GenerationStore(pool, projector, generation);
  return {
    load: (keys) => store.load(keys),
    find: (lookup, limit, after) => store.find(lookup, limit, after),
    write: (batch) => store.write(batch),
    parkedStreams: () => parkedStreams(pool, name, generation),
    unfinishedErasure: () => unfinishedErasure(pool, name, generation),
  };
}
