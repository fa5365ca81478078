import type { Pool } from 'pg';
import type { ExportedFile, KnownExport } from '../../domain/export/export.decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import { errorCode } from '../../foundation/error-code.js';
import { elapsed } from '../../foundation/world.js';
import { describeFailure } from '../../policies/describe-failure.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { filtersIn } from '../export-params.js';
import type { ExportProgress } from '../shown-export.js';
import {
  finishAttempt,
  noteProgress,
  storedBytesOf,
  type ClaimedExport,
} from '../storage/export-file-rows.js';
import { AttemptLost, type ExportChunks } from '../storage/export-chunks.js';
import { StoredFileWriter } from '../storage/file-writer.js';
import { writeExportFile, type ExportParts } from '../write-export-file.js';

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

class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

/** Writes the file of a claimed export once. Never throws. */
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
  const progress = new NotedProgress(parts.pool, claimed.attempt, stop);
  try {
    return await write(parts, claimed, state, { signal: ending.signal, progress });
  } catch (error) {
    if (stopping.aborted) return { kind: 'stopped' };
    if (error instanceof AttemptLost) return { kind: 'lost' };
    if (error instanceof NoRoom) return { kind: 'hopeless', reason: error.message };
    if (errorCode(error) === DISK_FULL)
      return { kind: 'hopeless', reason: 'the database has no room for the file' };
    if (parts.isOutage(error)) return { kind: 'stopped' };
    return { kind: 'failed', reason: describeFailure(error) };
  } finally {
    stopping.removeEventListener('abort', stop);
    await progress.end();
  }
}

async function write(
  parts: AttemptParts,
  { attempt, scope }: ClaimedExport,
  { exportType: type, format, texts }: KnownExport,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: NotedProgress },
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
  try {
    const written = await writeExportFile(
      parts.writing,
      { scope, type, format, filters: filtersIn(texts.params) },
      {
        notBefore,
        sink: file,
        people,
        progress: (rowsDone, rowsTotal) => progress.note({ rowsDone, rowsTotal }),
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
  } finally {
    await Promise.all([people.settled(), file.settled()]);
  }
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

/** Writes the newest progress down, one write at a time. */
class NotedProgress {
  private newest: ExportProgress | undefined;
  private writing: Promise<void> | undefined;
  private writtenAt = -Infinity;
  private isOver = false;

  constructor(
    private readonly pool: Pool,
    private readonly attempt: string,
    private readonly onLost: () => void,
  ) {}

  note(progress: ExportProgress): void {
    this.newest = progress;
    if (this.isOver || this.writing || elapsed() - this.writtenAt < PROGRESS_EVERY_MS) return;
    this.writtenAt = elapsed();
    this.writing = noteProgress(this.pool, this.attempt, progress)
      .then((isOurs) => {
        if (!isOurs && !this.isOver) this.onLost();
      })
      // The next one is noted.
      .catch(() => undefined)
      .finally(() => (this.writing = undefined));
  }

  /** Nothing is written any more. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.writing;
  }
}
