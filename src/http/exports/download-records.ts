import pLimit from 'p-limit';
import { ExportCommandEnvelope, type Commands } from '../../command-handling/commands.js';
import type { Scope } from '../../domain/scope.js';
import type { Actor } from '../../event-log/envelope.js';
import { errorName } from '../../foundation/describe-error.js';
import type { Logger } from '../../foundation/logger.js';
import { after, newId, timeNow } from '../../foundation/world.js';

export interface Download {
  readonly scope: Scope;
  readonly exportId: string;
  /** Who takes the data out. */
  readonly actor: Actor;
  /** Correlates the event. */
  readonly requestId: string;
}

/** Downloads of one export by one actor, for one event. */
interface Sum extends Download {
  /** Of its one append: a repetition has no second effect. */
  readonly commandId: string;
  /** Of the first one. Epoch milliseconds. */
  readonly since: number;
  readonly downloads: number;
}

const LOOK_EVERY_MS = 60_000;
/** Between two events of one export and actor: at most 25 a day. */
export const SUMMED_MS = 3_600_000;
const APPENDS_AT_ONCE = 4;
/** Exports and actors that are remembered, some hundred bytes each. */
const REMEMBERED_MAX = 10_000;
/** What could not be recorded for so long is given up. */
const KEPT_MS_MAX = 24 * 3_600_000;

/**
 * Records who downloads which export, behind the download. The first one is recorded at once; the
 * next ones by the same actor are counted for an hour, and are one event then. Counts of the last
 * hour are lost when the process crashes: that the actor has the file is recorded by then.
 */
export class DownloadRecords {
  /** By export and actor, since when its next event is counted, the oldest first. */
  private readonly counting = new Map<string, { readonly since: number; next: Sum | undefined }>();
  private failed: readonly Sum[] = [];
  private readonly limit = pLimit(APPENDS_AT_ONCE);
  private readonly underWay = new Set<Promise<void>>();
  private stopTimer: () => void = () => undefined;
  private isStopped = false;

  constructor(
    private readonly commands: Pick<Commands, 'execute'>,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly rememberedMax = REMEMBERED_MAX,
  ) {}

  start(): void {
    if (this.isStopped) return;
    const look = (): void => void this.write().finally(() => this.start());
    this.stopTimer = after(LOOK_EVERY_MS, look, { keepsProcess: false });
  }

  /** Returns at once. */
  note(download: Download): void {
    const { exportId, actor } = download;
    const key = JSON.stringify([exportId, actor.kind, actor.id]);
    const known = this.counting.get(key);
    if (known) {
      known.next = known.next
        ? { ...known.next, downloads: known.next.downloads + 1 }
        : firstOf(download);
      return;
    }
    const [oldest] = this.counting.keys();
    if (this.counting.size >= this.rememberedMax && oldest !== undefined) this.close(oldest);
    this.counting.set(key, { since: timeNow(), next: undefined });
    this.append(firstOf(download));
  }

  /** Records what is due, and what failed before. Never rejects. */
  async write(dueSince = timeNow() - SUMMED_MS): Promise<void> {
    const again = this.failed;
    this.failed = [];
    for (const sum of again) this.append(sum);
    for (const [key, { since, next }] of this.counting) {
      if (since > dueSince) continue;
      this.close(key);
      // Another hour is counted.
      if (next) this.counting.set(key, { since: timeNow(), next: undefined });
    }
    await Promise.all(this.underWay);
  }

  /** Records everything. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.stopTimer();
    await this.write(Infinity);
  }

  private close(key: string): void {
    const next = this.counting.get(key)?.next;
    this.counting.delete(key);
    if (next) this.append(next);
  }

  private append(sum: Sum): void {
    const work: Promise<void> = this.limit(() => this.record(sum))
      .catch((error: unknown) => this.keep(sum, error))
      .finally(() => this.underWay.delete(work));
    this.underWay.add(work);
  }

  private keep(sum: Sum, error: unknown): void {
    const isKept = sum.since > timeNow() - KEPT_MS_MAX && this.failed.length < this.rememberedMax;
    if (isKept) this.failed = [...this.failed, sum];
    const { exportId, downloads } = sum;
    this.logger.warn(
      { exportId, downloads, isGivenUp: !isKept, error: errorName(error) },
      'downloads of an export could not be recorded',
    );
  }

  private async record(sum: Sum): Promise<void> {
    const { scope, commandId, exportId, actor, requestId, downloads, since } = sum;
    const meta = {
      scope,
      commandId,
      correlationId: requestId,
      causationId: requestId,
      actor,
      idempotency: null,
    };
    const command = { type: 'RecordDownloads', downloads, since, now: timeNow() } as const;
    await this.commands.execute(new ExportCommandEnvelope(meta, exportId, command));
  }
}

const firstOf = (download: Download): Sum => ({
  ...download,
  commandId: newId(),
  since: timeNow(),
  downloads: 1,
});
