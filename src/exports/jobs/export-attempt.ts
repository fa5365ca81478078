import type { Pool } from 'pg';
import type { ExportedFile, KnownExport } from '../../domain/export/export.decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import { errorCode } from '../../foundation/error-code.js';
import { GivingWay } from '../../foundation/giving-way.js';
import { after, elapsed } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { datesIn, filtersIn } from '../export-params.js';
import type { ExportProgress } from '../shown-export.js';
import {
  finishAttempt,
  noteProgress,
  storedBytesOf,
  type ClaimedExport,
} from '../storage/export-file-rows.js';
import { AttemptLost, type ExportChunks } from '../storage/export-chunks.js';
import { StoredFileWriter } from '../storage/file-writer.js';
import { writeExportFile, type ExportParts, type ExportSink } from '../write-export-file.js';

export interface AttemptParts {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'head' | 'epoch'>;
  readonly keys: Pick<SubjectKeys, 'loadOrCreate'>;
  readonly chunks: ExportChunks;
  readonly writing: ExportParts;
  /** Bytes that the files of a tenant may take. */
  readonly storedBytesMax: number;
  /** An error of a store that is away: no failure of the export. */
  readonly isOutage: (error: unknown) => boolean;
  /** Whether clients wait for other work: the writing gives way. Default: nobody does. */
  readonly isBusy?: () => boolean;
  /** An attempt without progress for so long fails. Default: ten minutes. */
  readonly stalledAfterMs?: number;
}

export type AttemptOutcome =
  | { readonly kind: 'written'; readonly file: ExportedFile }
  /** The attempt was cancelled, or is another process's: there is nothing to do. */
  | { readonly kind: 'lost' }
  /** This process ends, or a store is away: this attempt does not count. */
  | { readonly kind: 'stopped' }
  /** Somebody in it was forgotten meanwhile. */
  | { readonly kind: 'forgotten' }
  /** Another attempt may succeed. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** No other attempt would succeed. */
  | { readonly kind: 'hopeless'; readonly reason: string };

const PROGRESS_EVERY_MS = 500;
/** Chunks between two looks at what the tenant's files take. */
const CHUNKS_PER_LOOK = 32;
const DISK_FULL = '53100';
/** Longer than the sort of the largest read model before its first row. */
const STALLED_AFTER_MS = 600_000;

class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

/** A statement hangs without an error: its server is frozen, or it waits for a lock. */
class Stalled extends Error {
  override readonly name = 'Stalled';
}

/**
 * Writes the file of a claimed export once. Never throws. What it has under way when it ends early
 * stores nothing more: its attempt is over.
 * @param stopping aborted when this process ends.
 */
export async function attemptExport(
  parts: AttemptParts,
  claimed: ClaimedExport,
  state: KnownExport,
  stopping: AbortSignal,
): Promise<AttemptOutcome> {
  const ending = new AbortController();
  const stop = (): void => ending.abort(new AttemptLost());
  stopping.addEventListener('abort', stop);
  if (stopping.aborted) stop();
  const { stalledAfterMs = STALLED_AFTER_MS } = parts;
  const stall = (): void =>
    ending.abort(new Stalled(`nothing was written for ${stalledAfterMs / 1_000} s`));
  let cancelStall = after(stalledAfterMs, stall);
  const alive = (): void => {
    cancelStall();
    cancelStall = after(stalledAfterMs, stall);
  };
  const progress = notedProgress(parts.pool, claimed.attempt, stop);
  const run = { signal: ending.signal, progress, alive };
  try {
    // A hanging statement would not see the signal.
    return await Promise.race([write(parts, claimed, state, run), aborted(ending.signal)]);
  } catch (error) {
    if (stopping.aborted) return { kind: 'stopped' };
    if (error instanceof AttemptLost) return { kind: 'lost' };
    if (error instanceof NoRoom) return { kind: 'hopeless', reason: error.message };
    if (error instanceof Stalled) return { kind: 'failed', reason: error.message };
    if (errorCode(error) === DISK_FULL)
      return { kind: 'hopeless', reason: 'the database has no room for the file' };
    if (parts.isOutage(error)) return { kind: 'stopped' };
    return { kind: 'failed', reason: describeFailure(error) };
  } finally {
    stopping.removeEventListener('abort', stop);
    cancelStall();
    void progress.end();
    // What is left of the writing ends.
    stop();
  }
}

/** Rejects with the signal's reason. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });

interface AttemptRun {
  readonly signal: AbortSignal;
  readonly progress: NotedProgress;
  /** There was progress: an attempt that hangs would never end. */
  readonly alive: () => void;
}

async function write(
  parts: AttemptParts,
  { attempt, scope }: ClaimedExport,
  { exportType: type, format, texts }: KnownExport,
  { signal, progress, alive }: AttemptRun,
): Promise<AttemptOutcome> {
  const { pool, log, keys, chunks } = parts;
  if (texts === null) return { kind: 'hopeless', reason: 'what was asked for cannot be read' };
  const key = (await keys.loadOrCreate([attempt])).get(attempt);
  if (!key) return { kind: 'lost' };
  const { epoch } = log;
  // Whoever was forgotten before the claim is not in the rows from here on; whoever is forgotten
  // later is noted in the row of the attempt.
  const notBefore = await log.head();
  const before = roomFor(parts, scope.tenant);
  const file = new StoredFileWriter({ chunks, key, attempt, before }, 'file');
  const people = new StoredFileWriter({ chunks, key, attempt, before }, 'people');
  const way = new GivingWay(parts.isBusy, signal);
  const noting = (sink: ExportSink): ExportSink => ({
    async write(chunk) {
      await sink.write(chunk);
      alive();
      await way.rest();
    },
  });
  const written = await writeExportFile(
    parts.writing,
    { scope, type, format, filters: filtersIn(texts.params), dates: datesIn(texts.params) },
    {
      notBefore,
      sink: noting(file),
      people: noting(people),
      progress: (rowsDone, rowsTotal) => progress.note({ rowsDone, rowsTotal }),
      waits: alive,
      signal,
    },
  );
  await people.end();
  await file.end();
  if (log.epoch !== epoch) return { kind: 'failed', reason: 'the log lost its end' };
  const { position = null, rows, bytes, sha256 } = written;
  const facts = { position, rows, bytes, sha256 };
  await progress.end();
  const finished = await finishAttempt(pool, attempt, facts);
  if (finished === 'lost') return { kind: 'lost' };
  return finished === 'written' ? { kind: 'written', file: facts } : { kind: 'forgotten' };
}

/** Throws when the files of the tenant take more than they may. */
function roomFor({ pool, storedBytesMax }: AttemptParts, tenant: string): () => Promise<void> {
  let chunks = 0;
  return async () => {
    if (chunks++ % CHUNKS_PER_LOOK !== 0) return;
    if ((await storedBytesOf(pool, tenant)) >= BigInt(storedBytesMax))
      throw new NoRoom(`the exports of the tenant take ${storedBytesMax} bytes, as many as may be`);
  };
}

interface NotedProgress {
  note(progress: ExportProgress): void;
  /** Resolves when nothing is written any more. */
  end(): Promise<void>;
}

/** Writes progress down now and then, one write at a time. */
function notedProgress(pool: Pool, attempt: string, onLost: () => void): NotedProgress {
  let writing = Promise.resolve();
  let writtenAt = -Infinity;
  return {
    note: (progress) => {
      if (elapsed() - writtenAt < PROGRESS_EVERY_MS) return;
      writtenAt = elapsed();
      writing = writing
        .then(() => noteProgress(pool, attempt, progress))
        .then((isHeld) => (isHeld ? undefined : onLost()))
        // The next one is noted.
        .catch(() => undefined);
    },
    end: () => writing,
  };
}
