import type { Pool, PoolClient } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { pause } from '../../foundation/pause.js';
import { errorCode } from '../../foundation/error-code.js';
import { beginSnapshot, endSnapshot } from '../../postgres/transaction.js';
import { liveCheckpoints } from '../../projecting/checkpoints.js';
import type { ReadModel } from '../../projecting/generations/generations.js';
import {
  ReadModelsIncomplete,
  type LiveGenerations,
} from '../../projecting/generations/live-generations.js';
import { quoted, schemaOf } from '../../projecting/identifiers.js';

/** A read model as it is at one position, until its transaction ends. */
export interface ReadModelAtPosition {
  /** Reads the snapshot; writes nothing. */
  readonly client: PoolClient;
  readonly generation: number;
  /** Undefined: before the first event. */
  readonly position: Position | undefined;
}

export interface PositionParts {
  /** Connections for long statements. */
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'compare' | 'head' | 'isPosition'>;
  readonly generations: Pick<LiveGenerations, 'liveGeneration'>;
  /** Whether these projections reached the position in time. */
  waitFor(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<boolean>;
}

interface Wanted {
  readonly readModel: ReadModel;
  /** The read model must include it; undefined: any position will do. */
  readonly notBefore: Position | undefined;
  readonly signal: AbortSignal;
}

/** The server's other processors are for other reads; compiling pays off for no export. */
const ONE_PROCESS = 'set local max_parallel_workers_per_gather = 0; set local jit = off';

const WAIT_MS = 2_000;
const RETRY_MS = 500;
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';

/**
 * One snapshot of a read model, not before a position: waits for it, and while the read models are
 * being built. Rows and checkpoint are of one transaction, so what is written, switched or cleaned
 * meanwhile is not seen.
 * @throws the signal's reason, and the database's errors.
 */
export async function readAtPosition<T>(
  parts: PositionParts,
  wanted: Wanted,
  work: (readModel: ReadModelAtPosition) => Promise<T>,
): Promise<T> {
  for (;;) {
    await reached(parts, wanted);
    const client = await parts.pool.connect();
    let found: ReadModelAtPosition | undefined;
    try {
      found = await snapshotOf(parts, client, wanted);
    } catch (error) {
      client.release(true);
      throw error;
    }
    if (!found) {
      await endSnapshot(client);
      await pause(RETRY_MS, wanted.signal);
      continue;
    }
    return use(found, wanted.signal, work);
  }
}

async function use<T>(
  found: ReadModelAtPosition,
  signal: AbortSignal,
  work: (readModel: ReadModelAtPosition) => Promise<T>,
): Promise<T> {
  const { client } = found;
  let isOver = false;
  const over = (broken: boolean): void => {
    if (isOver) return;
    isOver = true;
    client.release(broken);
  };
  // A closed connection ends the statement that runs on it.
  const cut = (): void => over(true);
  signal.addEventListener('abort', cut);
  try {
    signal.throwIfAborted();
    const result = await work(found);
    await client.query('rollback');
    over(false);
    return result;
  } catch (error) {
    over(true);
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', cut);
  }
}

/** Waits for the position. Returns also when the log has lost it. */
async function reached(
  parts: PositionParts,
  { readModel, notBefore, signal }: Wanted,
): Promise<void> {
  const { log } = parts;
  signal.throwIfAborted();
  while (notBefore !== undefined && log.isPosition(notBefore)) {
    if (await parts.waitFor(notBefore, [readModel.name], WAIT_MS, signal)) return;
    signal.throwIfAborted();
    if (log.compare(notBefore, await log.head()) > 0) return;
  }
}

/** Undefined: too early. */
async function snapshotOf(
  { log, generations }: PositionParts,
  client: PoolClient,
  { readModel, notBefore }: Wanted,
): Promise<ReadModelAtPosition | undefined> {
  try {
    await generations.liveGeneration(readModel.name);
    await beginSnapshot(client);
    await client.query(ONE_PROCESS);
    const [checkpoint] = await liveCheckpoints(client, [readModel]);
    if (!checkpoint) return undefined;
    const { generation, position } = checkpoint;
    const schema = schemaOf(readModel.name, generation);
    // A generation that is dropped from here on waits for this transaction.
    const places = readModel.tables.map(({ name }) => `${quoted(schema)}.${quoted(name)}`);
    await client.query(`lock table ${places.join(', ')} in access share mode`);
    if (
      notBefore !== undefined &&
      log.isPosition(notBefore) &&
      log.compare(position, notBefore) < 0 &&
      log.compare(notBefore, await log.head()) <= 0
    )
      return undefined;
    return { client, generation, position };
  } catch (error) {
    if (error instanceof ReadModelsIncomplete) return undefined;
    const code = errorCode(error);
    // Dropped before it could be locked.
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) return undefined;
    throw error;
  }
}
