import { ExportCommandEnvelope, type Commands } from '../../command-handling/commands.js';
import {
  EXPORT_KEPT_MS,
  type ExportCommand,
  type KnownExport,
} from '../../domain/export/export.decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import { newFileKeyId } from '../../privacy/file-keys.js';
import {
  againIn,
  DONE,
  postponedFor,
  workStore,
  type ClaimedWork,
  type WorkOutcome,
} from '../../work-queue/work-items.js';
import { Worker } from '../../work-queue/worker.js';
import { exportMeta, type Exports } from '../exports.js';
import {
  beginAttempt,
  expiredFiles,
  EXPORTS,
  findExportFile,
  storeAttempt,
  type ClaimedExport,
  type ExportFileRow,
  type ExportName,
} from '../storage/export-file-rows.js';
import { attemptExport, type AttemptOutcome, type AttemptParts } from './export-attempt.js';
import type { ExportSweep } from './export-sweep.js';

export interface ExportJobsParts extends Omit<AttemptParts, 'log'> {
  readonly log: EventLog;
  readonly commands: Commands;
  readonly exports: Exports;
  readonly sweep: ExportSweep;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Exports that this process writes concurrently. */
  readonly concurrency: number;
  readonly onAttempt?: (seen: ObservedExport) => void;
}

export interface ObservedExport {
  readonly outcome: AttemptOutcome['kind'];
  readonly ms: number;
}

const FAILURES_MAX = 3;
/** Delay until a new request is recorded in the log. */
const UNRECORDED_DELAY_MS = 300;
const RETRY_AFTER_MS = 1_000;
/** A file is rewritten for this time when people in it are forgotten during each attempt. */
const REWRITTEN_FOR_MS = 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;
const EXPIRE_EVERY_MS = 30_000;
const SWEEP_CHECK_EVERY_MS = 5_000;
/** The only time limit of an attempt. */
const LEASE_MS = 24 * 3_600_000;

/**
 * Writes waiting exports, one at a time per tenant and mode over all processes. Other processes
 * take over the exports of a dead one; the third failure ends an export. A sweep makes the rows
 * follow the streams.
 */
export class ExportJobs {
  readonly worker: Worker;
  private sweepAt = -Infinity;

  constructor(private readonly parts: ExportJobsParts) {
    const { log, pool, presence, concurrency } = parts;
    log.onWentBack(() => (this.sweepAt = -Infinity));
    this.worker = new Worker({
      store: workStore(pool),
      presence,
      describe: describeFailure,
      sideWork: [
        { work: () => this.sweep(), everyMs: SWEEP_CHECK_EVERY_MS },
        { work: () => this.expire(), everyMs: EXPIRE_EVERY_MS },
      ],
      kind: {
        name: EXPORTS,
        concurrency,
        ofTenant: concurrency,
        ofLane: 1,
        leaseMs: LEASE_MS,
        perform: (item, signal) => this.carryOut(item, signal),
      },
    });
  }

  private async carryOut(item: ClaimedWork, signal: AbortSignal): Promise<WorkOutcome> {
    const { exports, pool } = this.parts;
    const row = await findExportFile(pool, item.id);
    if (row === undefined) return DONE;
    const state = await exports.stateOf(row);
    if (state?.status !== 'requested') {
      await this.parts.sweep.settle(row);
      // The request is about to be recorded, or never will be.
      return state === undefined ? postponedFor(UNRECORDED_DELAY_MS) : DONE;
    }
    if (row.state === 'WRITTEN') return this.complete(row);
    const claimed = await beginAttempt(pool, row, {
      attempt: newFileKeyId(),
      expiresAt: state.expiresAt,
      destroyKey: (attempt) => exports.destroyKey(attempt),
    });
    if (claimed === undefined) return postponedFor(RETRY_AFTER_MS);
    if (item.attempts > FAILURES_MAX) return this.abort(row, 'its process ended three times');
    if (timeNow() >= state.expiresAt) return this.abort(row, 'it waited until its time was over');
    const began = elapsed();
    const outcome = await attemptExport(this.parts, claimed, state, signal);
    this.parts.onAttempt?.({ outcome: outcome.kind, ms: elapsed() - began });
    return this.settle(claimed, state, { outcome, attempts: item.attempts });
  }

  /** Completes a file whose process may have ended before recording the completion. */
  private async complete(row: ExportFileRow): Promise<WorkOutcome> {
    const { exports, log } = this.parts;
    const { file, attempt } = row;
    if (attempt === null || file === null) return DONE;
    const isInLog =
      file.position === null ||
      (log.isPosition(file.position) && log.compare(file.position, await log.head()) <= 0);
    if (isInLog) return this.record({ ...row, attempt }, file);
    await exports.release(attempt);
    return postponedFor(0);
  }

  private async settle(
    claimed: ClaimedExport,
    { expiresAt }: KnownExport,
    { outcome, attempts }: { readonly outcome: AttemptOutcome; readonly attempts: number },
  ): Promise<WorkOutcome> {
    const { exportId, attempt } = claimed;
    const { exports, logger } = this.parts;
    switch (outcome.kind) {
      case 'written':
        return this.record(claimed, outcome.file);
      case 'lost':
        await exports.release(attempt);
        return againIn(0);
      case 'stopped':
        await exports.release(attempt);
        return postponedFor(this.worker.loop.signal.aborted ? 0 : RETRY_AFTER_MS);
      case 'forgotten':
        if (timeNow() > expiresAt - EXPORT_KEPT_MS + REWRITTEN_FOR_MS)
          return this.abort(claimed, 'people in it were forgotten each time it was written');
        await exports.release(attempt);
        return postponedFor(RETRY_AFTER_MS);
      case 'hopeless':
        return this.abort(claimed, outcome.reason);
      case 'failed': {
        const { reason } = outcome;
        logger.warn({ exportId, reason, failures: attempts }, 'an export failed');
        if (attempts >= FAILURES_MAX)
          return this.abort(claimed, `failed ${attempts} times: ${reason}`);
        await exports.release(attempt);
        return againIn(RETRY_AFTER_MS * 2 ** attempts, reason);
      }
    }
  }

  private async record(
    { scope, exportId, attempt }: ExportName & { readonly attempt: string },
    file: NonNullable<ExportFileRow['file']>,
  ): Promise<WorkOutcome> {
    const { exports, pool } = this.parts;
    const now = timeNow();
    const state = await this.step({ scope, exportId }, { type: 'CompleteExport', file, now });
    if (state?.status !== 'completed') await exports.remove(exportId);
    else if (state.file?.sha256 !== file.sha256) await exports.expire({ scope, exportId }, 'LOST');
    else if (!(await storeAttempt(pool, attempt))) {
      const row = await findExportFile(pool, exportId);
      // A person in it was forgotten between the last byte and the completion.
      if (row?.attempt !== attempt || row.state !== 'STORED')
        await exports.expire({ scope, exportId }, 'FORGOTTEN');
    }
    return DONE;
  }

  private async abort({ scope, exportId }: ExportName, reason: string): Promise<WorkOutcome> {
    await this.step({ scope, exportId }, { type: 'AbortExport', reason, now: timeNow() });
    await this.parts.exports.remove(exportId);
    this.parts.logger.warn({ exportId, reason }, 'an export was aborted');
    return DONE;
  }

  private async step(
    { scope, exportId }: ExportName,
    command: ExportCommand,
  ): Promise<KnownExport | undefined> {
    const meta = exportMeta(scope, 'export job');
    const outcome = await this.parts.commands.execute(
      new ExportCommandEnvelope(meta, exportId, command),
    );
    if ('refused' in outcome || outcome.state.status === 'absent') return undefined;
    return outcome.state;
  }

  /** Runs at the start, every hour, and after the log lost events. */
  private async sweep(): Promise<number> {
    if (elapsed() < this.sweepAt) return 0;
    this.sweepAt = elapsed() + SWEEP_EVERY_MS;
    try {
      await this.parts.sweep.all(this.worker.loop.signal);
    } catch {
      this.sweepAt = -Infinity;
    }
    return 0;
  }

  private async expire(): Promise<number> {
    const expired = await expiredFiles(this.parts.pool, timeNow());
    for (const name of expired) await this.parts.exports.expire(name, 'AGE');
    return 0;
  }
}
