import type { Pool, PoolClient } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import { pause } from '../../foundation/pause.js';
import { errorCode } from '../../foundation/error-code.js';
import { beginSnapshot } from '../../postgres/transaction.js';
import { liveCheckpoints } from '../../projecting/checkpoints.js';
import type { ReadModel } from '../../projecting/generations/generations.js';
import {
  ReadModelsIncomplete,
  type LiveGenerations,
} from '../../projecting/generations/live-generations.js';
import { quoted, schemaOf } from '../../projecting/identifiers.js';

export interface ReadModelAtPosition {
  /** Reads the snapshot. */
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

interface PositionRequest {
  readonly readModel: ReadModel;
  /** Oldest acceptable position; undefined: any. */
  readonly notBefore: Position | undefined;
  readonly signal: AbortSignal;
  /** Called every few seconds while the read model is not there yet. */
  readonly waits?: () => void;
}

/**
 * Parallel workers are for other reads, and compiling does not pay off. The server checks the
 * connection, so that long sorts and waits for locks end with their attempt.
 */
const SETTINGS = `set local max_parallel_workers_per_gather = 0; set local jit = off;
  set local client_connection_check_interval = '2s'`;

const WAIT_MS = 2_000;
const RETRY_MS = 500;
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';

/**
 * Waits until the read model exists and includes the position, then reads one snapshot of it. Rows
 * and checkpoint belong to one transaction, so later changes are invisible.
 * @throws the signal's reason, and the database's errors.
 */
export async function readAtPosition<T>(
  parts: PositionParts,
  wanted: PositionRequest,
  work: (readModel: ReadModelAtPosition) => Promise<T>,
): Promise<T> {
  for (;;) {
    await waitUntilReached(parts, wanted);
    const client = await parts.pool.connect();
    const release = releaser(client, wanted.signal);
    try {
      wanted.signal.throwIfAborted();
      const found = await snapshotOf(parts, client, wanted);
      const result = found && { value: await work(found) };
      await client.query('rollback');
      release(false);
      if (result) return result.value;
    } catch (error) {
      release(true);
      wanted.signal.throwIfAborted();
      throw error;
    }
    wanted.waits?.();
    await pause(RETRY_MS, wanted.signal);
  }
}

/** Closes the connection on abort, which ends its statement. */
function releaser(client: PoolClient, signal: AbortSignal): (isBroken: boolean) => void {
  let isOver = false;
  const release = (isBroken: boolean): void => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener('abort', cut);
    client.release(isBroken);
  };
  const cut = (): void => release(true);
  signal.addEventListener('abort', cut);
  return release;
}

/** Waits for the position. Also returns when the log has lost it. */
async function waitUntilReached(parts: PositionParts, wanted: PositionRequest): Promise<void> {
  const { readModel, notBefore, signal, waits } = wanted;
  signal.throwIfAborted();
  if (notBefore === undefined || !parts.log.isPosition(notBefore)) return;
  while (!(await parts.waitFor(notBefore, [readModel.name], WAIT_MS, signal))) {
    signal.throwIfAborted();
    if (parts.log.compare(notBefore, await parts.log.head()) > 0) return;
    waits?.();
  }
}

/** Undefined: too early. */
async function snapshotOf(
  { log, generations }: PositionParts,
  client: PoolClient,
  { readModel, notBefore }: PositionRequest,
): Promise<ReadModelAtPosition | undefined> {
  try {
    await generations.liveGeneration(readModel.name);
    await beginSnapshot(client);
    await client.query(SETTINGS);
    const [checkpoint] = await liveCheckpoints(client, [readModel]);
    if (!checkpoint) return undefined;
    const { generation, position } = checkpoint;
    const schema = schemaOf(readModel.name, generation);
    // Keeps the generation until the end of this transaction.
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
    // The generation was dropped before the lock.
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) return undefined;
    throw error;
  }
}
