import type { Pool } from 'pg';
import type { ExportedFile, KnownExport } from '../../domain/export/export.decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import { errorCode } from '../../foundation/error-code.js';
import { BackgroundPacer } from '../../foundation/background-pacer.js';
import { after, elapsed } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { datesIn, filtersIn } from '../export-params.js';
import type { ExportProgress } from '../shown-export.js';
import {
  finishAttempt,
  recordProgress,
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
  /** Limit of the bytes of a tenant's files. */
  readonly storedBytesMax: number;
  /** Recognises errors of unavailable stores, which are no failure of the export. */
  readonly isOutage: (error: unknown) => boolean;
  /** Whether clients are waiting, so that writing yields. Default: never. */
  readonly isBusy?: () => boolean;
  /** Longest time without progress. Default: ten minutes. */
  readonly stalledAfterMs?: number;
}

export type AttemptOutcome =
  | { readonly kind: 'written'; readonly file: ExportedFile }
  /** The attempt was cancelled, or belongs to another process. */
  | { readonly kind: 'lost' }
  /** The process is stopping, or a store is unavailable: the attempt does not count. */
  | { readonly kind: 'stopped' }
  /** A person in the file was forgotten. */
  | { readonly kind: 'forgotten' }
  /** A retry may succeed. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** A retry would fail as well. */
  | { readonly kind: 'hopeless'; readonly reason: string };

const PROGRESS_EVERY_MS = 500;
/** Chunks between two checks of the tenant's stored bytes. */
const CHUNKS_PER_CHECK = 32;
const DISK_FULL = '53100';
/** Longer than sorting the largest read model takes. */
const STALLED_AFTER_MS = 600_000;

class StorageLimitReached extends Error {
  override readonly name = 'StorageLimitReached';
}

/** A statement hangs: its server is frozen, or it waits for a lock. */
class Stalled extends Error {
  override readonly name = 'Stalled';
}

/**
 * Writes the file of a claimed export once. Never throws. After it ends early, its remaining work
 * stores nothing. @param stopping aborted when this process stops.
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
  const progress = progressRecorder(parts.pool, claimed.attempt, stop);
  const run = { signal: ending.signal, progress, alive };
  try {
    // A hanging statement ignores the signal.
    return await Promise.race([write(parts, claimed, state, run), aborted(ending.signal)]);
  } catch (error) {
    if (stopping.aborted) return { kind: 'stopped' };
    if (error instanceof AttemptLost) return { kind: 'lost' };
    if (error instanceof StorageLimitReached) return { kind: 'hopeless', reason: error.message };
    if (error instanceof Stalled) return { kind: 'failed', reason: error.message };
    if (errorCode(error) === DISK_FULL)
      return { kind: 'hopeless', reason: 'the database has no room for the file' };
    if (parts.isOutage(error)) return { kind: 'stopped' };
    return { kind: 'failed', reason: describeFailure(error) };
  } finally {
    stopping.removeEventListener('abort', stop);
    cancelStall();
    void progress.end();
    // Ends the remaining work.
    stop();
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });

interface AttemptRun {
  readonly signal: AbortSignal;
  readonly progress: ProgressRecorder;
  /** Call it at progress: otherwise the attempt counts as stalled. */
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
  // People who were forgotten before this position are not in the rows; later ones are noted in
  // the row of the attempt.
  const notBefore = await log.head();
  const before = spaceCheck(parts, scope.tenant);
  const file = new StoredFileWriter({ chunks, key, attempt, before }, 'file');
  const people = new StoredFileWriter({ chunks, key, attempt, before }, 'people');
  const way = new BackgroundPacer(parts.isBusy, signal);
  const noting = (sink: ExportSink): ExportSink => ({
    async write(chunk) {
      await sink.write(chunk);
      alive();
      await way.pause();
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

/** Throws when the tenant's files reach their limit. */
function spaceCheck({ pool, storedBytesMax }: AttemptParts, tenant: string): () => Promise<void> {
  let chunks = 0;
  return async () => {
    if (chunks++ % CHUNKS_PER_CHECK !== 0) return;
    if ((await storedBytesOf(pool, tenant)) >= BigInt(storedBytesMax))
      throw new StorageLimitReached(
        `the exports of the tenant take ${storedBytesMax} bytes, as many as may be`,
      );
  };
}

interface ProgressRecorder {
  note(progress: ExportProgress): void;
  /** Resolves when nothing is written any more. */
  end(): Promise<void>;
}

/** Stores progress from time to time, one write after the other. */
function progressRecorder(pool: Pool, attempt: string, onLost: () => void): ProgressRecorder {
  let writing = Promise.resolve();
  let writtenAt = -Infinity;
  return {
    note: (progress) => {
      if (elapsed() - writtenAt < PROGRESS_EVERY_MS) return;
      writtenAt = elapsed();
      writing = writing
        .then(() => recordProgress(pool, attempt, progress))
        .then((isHeld) => (isHeld ? undefined : onLost()))
        // The next report may succeed.
        .catch(() => undefined);
    },
    end: () => writing,
  };
}
