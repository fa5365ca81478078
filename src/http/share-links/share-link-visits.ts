import pLimit from 'p-limit';
import { CountVisitsEnvelope, type Commands } from '../../command-handling/commands.js';
import type { Scope } from '../../domain/scope.js';
import type { SharedLink, SharedMedia } from '../../domain/share-link/share-link.decider.js';
import { errorName } from '../../foundation/describe-error.js';
import type { Logger } from '../../foundation/logger.js';
import { after, newId, timeNow } from '../../foundation/world.js';

export interface Visit {
  readonly scope: Scope;
  readonly code: string;
  readonly link: SharedLink;
  readonly media: SharedMedia;
}

/** The visits of a code in one interval. */
interface Sum {
  /** Of its one append: a repetition has no second effect. */
  readonly commandId: string;
  readonly scope: Scope;
  readonly code: string;
  readonly link: SharedLink;
  readonly since: number;
  /** By their media. */
  readonly counts: Map<string, SharedMedia & { count: number }>;
}

export const INTERVAL_MS = 60_000;
const APPENDS_AT_ONCE = 8;
/** Counts in memory, some hundred bytes each, that begin a write before the interval is over. */
const COUNTS_MAX = 20_000;
/** A sum that could not be written for so long is given up. */
const KEPT_MS_MAX = 24 * 60 * 60 * 1000;

/**
 * Counts visits in memory and records them once a minute: one event per code, however many visits.
 * A sum whose append failed is sent again unchanged, later visits are the next sum's: no visit is
 * counted twice. The visits of the last minute are lost when the process crashes.
 */
export class ShareLinkVisits {
  private gathering = new Map<string, Sum>();
  /** Sums whose append failed; it may have been recorded. */
  private failed: readonly Sum[] = [];
  /** In all sums, and in those that are gathering. */
  private counts = 0;
  private gathered = 0;
  /** Visits since the last write that found no room. */
  private uncounted = 0;
  private writing: Promise<void> | undefined;
  private stopTimer: () => void = () => undefined;
  private isStopped = false;

  constructor(
    private readonly commands: Commands,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly countsMax = COUNTS_MAX,
  ) {}

  start(): void {
    if (this.isStopped) return;
    this.stopTimer = after(INTERVAL_MS, () => void this.write().finally(() => this.start()), {
      keepsProcess: false,
    });
  }

  add({ scope, code, link, media }: Visit): void {
    const now = timeNow();
    const key = JSON.stringify([scope.tenant, scope.mode, code.toLowerCase(), link, dayOf(now)]);
    const medium = JSON.stringify(media);
    const known = this.gathering.get(key);
    const count = known?.counts.get(medium);
    if (count !== undefined) count.count++;
    else if (this.counts >= 2 * this.countsMax) this.uncounted++;
    else {
      const sum = known ?? this.begin(key, { scope, code, link, since: now });
      sum.counts.set(medium, { ...media, count: 1 });
      this.counts++;
      this.gathered++;
    }
    if (this.gathered >= this.countsMax && this.writing === undefined) void this.write();
  }

  /** Records all that was counted when it is called. Never rejects. */
  async write(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
    this.writing = this.recordAll().finally(() => (this.writing = undefined));
    return this.writing;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.stopTimer();
    await this.write();
  }

  private begin(key: string, of: Omit<Sum, 'commandId' | 'counts'>): Sum {
    const sum = { ...of, commandId: newId(), counts: new Map<string, never>() };
    this.gathering.set(key, sum);
    return sum;
  }

  private async recordAll(): Promise<void> {
    const sums = [...this.failed, ...this.gathering.values()];
    this.gathering = new Map();
    this.gathered = 0;
    this.failed = [];
    const limit = pLimit(APPENDS_AT_ONCE);
    const errors = new Map<Sum, unknown>();
    await Promise.all(
      sums.map((sum) =>
        limit(() => this.record(sum).catch((error: unknown) => errors.set(sum, error))),
      ),
    );
    const isKept = (sum: Sum): boolean => errors.has(sum) && sum.since > timeNow() - KEPT_MS_MAX;
    this.failed = sums.filter(isKept);
    for (const sum of sums) if (!isKept(sum)) this.counts -= sum.counts.size;
    this.report(errors);
  }

  private report(errors: ReadonlyMap<Sum, unknown>): void {
    if (this.uncounted > 0)
      this.logger.warn({ visits: this.uncounted }, 'visits of share links were not counted');
    this.uncounted = 0;
    const [error] = errors.values();
    if (errors.size > 0)
      this.logger.warn(
        { codes: errors.size, error: errorName(error) },
        'visits of share links could not be recorded yet',
      );
  }

  private async record({ commandId, scope, code, link, since, counts }: Sum): Promise<void> {
    const meta = {
      scope,
      commandId,
      correlationId: commandId,
      causationId: commandId,
      actor: { kind: 'anyone' as const, id: 'anyone' },
      idempotency: { key: commandId, fingerprint: commandId },
    };
    const visits = [...counts.values()];
    await this.commands.execute(
      new CountVisitsEnvelope(meta, code, dayOf(since), { ...link, since, visits }),
    );
  }
}

/** In UTC. */
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
