import type { Pool } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import { AdvisoryLocks, type Locks } from '../../postgres/leadership.js';
import { boundTo } from '../../postgres/statements.js';
import { checkpointMoves, liveCheckpoints, recordLastError } from '../checkpoints.js';
import { GenerationStore } from '../generations/generation-store.js';
import { ensureOwnGenerations, leaderLocksOf } from '../generations/generations.js';
import type { Projector } from '../projector.js';
import { projectionStatus } from './projection-status.js';

/** The rows of one generation. Every method throws while the store is unavailable. */
export type GenerationRows = Pick<
  GenerationStore,
  'load' | 'find' | 'write' | 'parkedStreams' | 'unfinishedErasure'
>;

/** @param pool one of its connections holds the locks while the projections run. */
export function postgresProjectionStores(pool: Pool, projectors: readonly Projector[]) {
  const ensureGenerations = (): Promise<unknown> => ensureOwnGenerations(pool, projectors);
  // Processes of a release with other tables follow other generations, under other locks.
  const lockNames = async (): Promise<ReadonlyMap<string, string>> => {
    await ensureGenerations();
    return leaderLocksOf(projectors);
  };
  const moveCheckpoint = checkpointMoves(pool);
  return {
    locks: new AdvisoryLocks(pool, { lockNames }) as Locks,
    /** Creates missing generations that this release follows. */
    ensureGenerations,
    rowsOf: (projector: Projector, generation: number): GenerationRows =>
      new GenerationStore(pool, projector, generation, moveCheckpoint),
    ...boundTo(pool, {
      /** Of the generations that this release follows. */
      checkpoints: liveCheckpoints,
      recordLastError,
      /** @param now epoch milliseconds. */
      status: (db: Pool, log: EventLog, now: number) => projectionStatus(db, log, projectors, now),
    }),
  };
}

/** What following the log stores, and the locks by which one process leads. */
export type ProjectionStores = ReturnType<typeof postgresProjectionStores>;
