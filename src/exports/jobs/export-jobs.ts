import { LRUCache } from 'lru-cache';
import { ExportCommandEnvelope, type Commands } from '../../command-handling/commands.js';
import {
  EXPORT_KEPT_MS,
  type ExportCommand,
  type KnownExport,
} from '../../domain/export/export.decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { upToEntries } from '../../foundation/up-to-entries.js';
import { WorkLoop } from '../../foundation/work-loop.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import { newFileKeyId } from '../../privacy/file-keys.js';
import { exportMeta, type Exports } from '../exports.js';
import {
  claimExport,
  expiredFiles,
  findExportFile,
  postpone,
  releaseAttempt,
  storeAttempt,
  waitingExports,
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
  /** Exports that this process writes at once. */
  readonly atOnce: number;
  readonly onAttempt?: (seen: SeenExport) => void;
}

/** For metrics. */
export interface SeenExport {
  readonly outcome: AttemptOutcome['kind'];
  readonly ms: number;
}

const RETRY = { first: 100, max: 5_000 };
const FAILURES_MAX = 3;
/** A request that is not recorded yet is looked at again. */
const UNRECORDED_MS = 300;
const AGAIN_AFTER_MS = 1_000;
/** People may be forgotten while a file is written, again and again: for so long it begins anew. */
const FORGETTING_WITHIN_MS = 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;
const EXPIRE_EVERY_MS = 30_000;
const LOOK_FOR_SWEEPS_MS = 5_000;

/**
 * Writes the exports that wait, one at a time for each tenant and mode in all processes together. A
 * process that dies leaves its exports to the others; the third failure of an export ends it. What
 * the rows say follows the streams: a sweep settles where the two differ.
 */
export class ExportJobs {
  readonly loop: WorkLoop;
  /** When an export of a tenant began last: who waited longest goes first. */
  private readonly began = new LRUCache<string, number>(upToEntries(10_000));
  private sweepAt = -Infinity;

  constructor(private readonly parts: ExportJobsParts) {
    parts.log.onWentBack(() => (this.sweepAt = -Infinity));
    this.loop = new WorkLoop({
      take: () => this.beginNext(),
      beside: [
        { work: () => this.sweep(), everyMs: LOOK_FOR_SWEEPS_MS },
        { work: () => this.expire(), everyMs: EXPIRE_EVERY_MS },
      ],
      describe: describeFailure,
    });
  }

  private get hasRoom(): boolean {
    return this.loop.underWay.length < this.parts.atOnce;
  }

  private async beginNext(): Promise<number> {
    if (!this.hasRoom) return 0;
    const waiting = (await waitingExports(this.parts.pool)).filter(
      ({ exportId }) => !this.loop.underWay.includes(exportId),
    );
    const lastOf = ({ scope }: ExportName): number => this.began.peek(scope.tenant) ?? -Infinity;
    const inTurn = waiting.toSorted((a, b) => lastOf(a) - lastOf(b) || 0);
    for (const name of inTurn) {
      if (this.loop.signal.aborted || !this.hasRoom) return 0;
      this.began.set(name.scope.tenant, elapsed());
      const { exportId } = name;
      const work = this.carryOut(name).catch((error: unknown) => {
        const line = { exportId, error: describeFailure(error) };
        this.parts.logger.warn(line, 'an export was interrupted');
      });
      this.loop.carry(work, exportId);
    }
    return 0;
  }

  private async carryOut(name: ExportName): Promise<void> {
    const { exports, pool, presence } = this.parts;
    const state = await exports.stateOf(name);
    const row = await findExportFile(pool, name.exportId);
    if (row === undefined) return;
    if (state === undefined) {
      // The request is about to be recorded, or never was.
      await postpone(pool, name.exportId, UNRECORDED_MS);
      return this.parts.sweep.settle(row);
    }
    if (state.status !== 'requested') return this.parts.sweep.settle(row);
    if (row.state === 'WRITTEN') return this.complete(row);
    const claimed = await claimExport(pool, name, {
      attempt: newFileKeyId(),
      owner: presence.id,
      expiresAt: state.expiresAt,
      destroyKey: (attempt) => exports.destroyKey(attempt),
    });
    if (claimed) await this.untilStopped(() => this.run(claimed, state));
  }

  /** A dead process wrote the file, and its completion may be missing. */
  private async complete(row: ExportFileRow): Promise<void> {
    const { log, pool } = this.parts;
    const { file, attempt } = row;
    if (attempt === null || file === null) return;
    const isInLog =
      file.position === null ||
      (log.isPosition(file.position) && log.compare(file.position, await log.head()) <= 0);
    if (isInLog) await this.record({ ...row, attempt }, file);
    else await releaseAttempt(pool, attempt, { isFailure: false, retryAt: timeNow() });
  }

  private async run(claimed: ClaimedExport, state: KnownExport): Promise<void> {
    const { failures } = claimed;
    if (failures >= FAILURES_MAX) return this.giveUp(claimed, 'its process ended three times');
    if (timeNow() >= state.expiresAt)
      return this.giveUp(claimed, 'it waited until its time was over');
    const began = elapsed();
    const outcome = await attemptExport(this.parts, claimed, state, this.loop.signal);
    this.parts.onAttempt?.({ outcome: outcome.kind, ms: elapsed() - began });
    await this.untilStopped(() => this.settle(claimed, state, outcome));
  }

  private async settle(
    claimed: ClaimedExport,
    { expiresAt }: KnownExport,
    outcome: AttemptOutcome,
  ): Promise<void> {
    switch (outcome.kind) {
      case 'written':
        return this.record(claimed, outcome.file);
      case 'lost':
        // A row that is still ours waits again.
        return this.release(claimed, { isFailure: true, retryAt: timeNow() });
      case 'stopped':
        return this.release(claimed, {
          isFailure: false,
          retryAt: timeNow() + (this.loop.signal.aborted ? 0 : AGAIN_AFTER_MS),
        });
      case 'forgotten':
        if (timeNow() > expiresAt - EXPORT_KEPT_MS + FORGETTING_WITHIN_MS)
          return this.giveUp(claimed, 'people in it were forgotten each time it was written');
        return this.release(claimed, { isFailure: false, retryAt: timeNow() + AGAIN_AFTER_MS });
      case 'hopeless':
        return this.giveUp(claimed, outcome.reason);
      case 'failed': {
        const { exportId } = claimed;
        const failures = claimed.failures + 1;
        const line = { exportId, reason: outcome.reason, failures };
        this.parts.logger.warn(line, 'an export failed');
        if (failures >= FAILURES_MAX)
          return this.giveUp(claimed, `failed ${failures} times: ${outcome.reason}`);
        const retryAt = timeNow() + AGAIN_AFTER_MS * 2 ** failures;
        return this.release(claimed, { isFailure: true, retryAt });
      }
    }
  }

  private async release(
    { attempt }: ClaimedExport,
    how: { readonly isFailure: boolean; readonly retryAt: number },
  ): Promise<void> {
    await this.parts.exports.destroyKey(attempt);
    await releaseAttempt(this.parts.pool, attempt, how);
  }

  /** Records the completion of a file that is whole. */
  private async record(
    { scope, exportId, attempt }: ExportName & { readonly attempt: string },
    file: NonNullable<ExportFileRow['file']>,
  ): Promise<void> {
    const { exports, pool } = this.parts;
    const now = timeNow();
    const state = await this.step({ scope, exportId }, { type: 'CompleteExport', file, now });
    if (state?.status === 'completed' && state.file?.sha256 === file.sha256) {
      if (await storeAttempt(pool, attempt)) return;
      const row = await findExportFile(pool, exportId);
      if (row?.attempt === attempt && row.state === 'STORED') return;
      // Somebody in it was forgotten between the last byte and the completion.
      return exports.expire({ scope, exportId }, 'FORGOTTEN');
    }
    if (state?.status === 'completed') return exports.expire({ scope, exportId }, 'LOST');
    return exports.remove(exportId);
  }

  private async giveUp({ scope, exportId }: ExportName, reason: string): Promise<void> {
    await this.step({ scope, exportId }, { type: 'AbortExport', reason, now: timeNow() });
    await this.parts.exports.remove(exportId);
    this.parts.logger.warn({ exportId, reason }, 'an export was aborted');
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

  /**
   * Again until it succeeds: a claim of this process stands until it is settled. A process that
   * stops tries once more, and leaves it to others then.
   */
  private async untilStopped(work: () => Promise<void>): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        return await work();
      } catch (error) {
        if (this.loop.signal.aborted) throw error;
        await pause(backOffMs(failures, RETRY), this.loop.signal);
      }
    }
  }

  /** Settles what streams and rows say differently: at the start, every hour, and after a loss. */
  private async sweep(): Promise<number> {
    if (elapsed() < this.sweepAt) return 0;
    this.sweepAt = elapsed() + SWEEP_EVERY_MS;
    try {
      await this.parts.sweep.all(this.loop.signal);
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
