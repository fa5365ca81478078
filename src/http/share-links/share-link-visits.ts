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

/** The visits of a code in an interval. */
interface Sum {
  /** Of its append, so that a retry has no second effect. */
  readonly commandId: string;
  readonly scope: Scope;
  readonly code: string;
  readonly link: SharedLink;
  readonly since: number;
  readonly counts: Map<string, SharedMedia & { count: number }>;
}

export const INTERVAL_MS = 60_000;
const APPENDS_AT_ONCE = 8;
/** Counters in memory, some hundred bytes each, after which a write begins early. */
const COUNTS_MAX = 20_000;
/** A sum that could not be written for this time is dropped. */
const KEPT_MS_MAX = 24 * 60 * 60 * 1000;

/**
 * Counts visits in memory and records them once a minute, with one event per code. A failed append
 * is retried unchanged, and later visits belong to the next sum, so that no visit counts twice. A
 * crash loses the visits of the last minute.
 */
export class ShareLinkVisits {
  private gathering = new Map<string, Sum>();
  /** Sums whose append failed, or had no answer. */
  private failed: readonly Sum[] = [];
  private counts = 0;
  private gathered = 0;
  /** Visits that found no counter since the last write. */
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

  /** Records all visits up to now. Never rejects. */
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

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
