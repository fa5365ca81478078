import { WorkLoop, type PeriodicWork } from '../foundation/work-loop.js';
import {
  postponedFor,
  type ClaimedWork,
  type SettledWork,
  type WorkOutcome,
  type ClaimLimits,
  type WorkStore,
} from './work-items.js';

/** A kind of work with its concurrency limits. */
export interface WorkKind {
  readonly name: string;
  readonly concurrency: number;
  /** Items of one tenant. @param free places. */
  readonly ofTenant: number | ((free: number) => number);
  /** Items of one lane in all processes; undefined: unbounded. */
  readonly ofLane?: number;
  /** Lanes with lower limits at the moment. */
  readonly lanes?: () => Promise<Partial<Pick<ClaimLimits, 'paused' | 'narrow'>>>;
  /** Longest attempt; other processes take over the items of a frozen process after it. */
  readonly leaseMs: number;
  /** @throws for a cause outside the item, such as an outage: the item is postponed. */
  readonly perform: (item: ClaimedWork, signal: AbortSignal) => Promise<WorkOutcome>;
}

export interface WorkerParts {
  readonly store: WorkStore;
  readonly presence: { readonly id: number };
  readonly kind: WorkKind;
  /** One line for the health page. */
  readonly describe: (error: unknown) => string;
  readonly sideWork?: readonly PeriodicWork[];
}

const UNBOUNDED = 2 ** 31 - 1;
const ORPHANS_EVERY_MS = 2_500;
/** Delay after an error that `perform` threw. */
const FAILURE_DELAY_MS = 1_000;

/**
 * Works on the items of a kind, shared by any number of processes. Outcomes are recorded together
 * before the next claim; while the database is unavailable they wait in memory and occupy places.
 */
export class Worker {
  readonly loop: WorkLoop;
  private readonly held = new Map<string, ClaimedWork>();
  private ended: SettledWork[] = [];
  private missed: readonly number[] = [];
  private lastTenant = '';

  constructor(private readonly parts: WorkerParts) {
    this.loop = new WorkLoop({
      take: () => this.take(),
      periodic: [
        { work: () => this.releaseOrphans(), everyMs: ORPHANS_EVERY_MS },
        ...(parts.sideWork ?? []),
      ],
      describe: parts.describe,
    });
  }

  /** Waits for running attempts and records them if the database is available. */
  async stop(): Promise<void> {
    await this.loop.stop();
    // After a failure the claims end with the process.
    await this.settle().catch(() => undefined);
  }

  private async take(): Promise<number> {
    await this.settle();
    const { store, kind, presence } = this.parts;
    const items = kind.concurrency - this.held.size;
    if (items <= 0 || !(await store.isAnyDue(kind.name))) return 0;
    const claimed = await store.claim({
      kind: kind.name,
      process: presence.id,
      items,
      ofTenant: typeof kind.ofTenant === 'number' ? kind.ofTenant : kind.ofTenant(items),
      ofLane: kind.ofLane ?? UNBOUNDED,
      underWay: [...this.held.values()].map(({ tenant }) => tenant),
      paused: [],
      narrow: [],
      ...(await kind.lanes?.()),
      after: this.lastTenant,
      leaseMs: kind.leaseMs,
    });
    // Another process may have ended the claim of an item that this one still holds.
    const free = claimed.filter(({ id }) => !this.held.has(id));
    for (const item of free) this.begin(item);
    return free.length;
  }

  private begin(item: ClaimedWork): void {
    this.lastTenant = item.tenant;
    this.held.set(item.id, item);
    const work = this.perform(item).then((outcome) => void this.ended.push({ item, outcome }));
    this.loop.track(work);
  }

  private async perform(item: ClaimedWork): Promise<WorkOutcome> {
    try {
      const outcome = await this.parts.kind.perform(item, this.loop.signal);
      this.loop.worked();
      return outcome;
    } catch (error) {
      this.loop.failed(error);
      return postponedFor(FAILURE_DELAY_MS, this.parts.describe(error));
    }
  }

  /** @throws while the database is unavailable; the outcomes are kept. */
  private async settle(): Promise<void> {
    const settled = this.ended.splice(0);
    if (settled.length === 0) return;
    const { store, kind, presence } = this.parts;
    try {
      await store.settle({ kind: kind.name, process: presence.id }, settled);
    } catch (error) {
      this.ended.unshift(...settled);
      throw error;
    }
    for (const { item } of settled) this.held.delete(item.id);
  }

  private async releaseOrphans(): Promise<number> {
    const { store, kind, presence } = this.parts;
    this.missed = await store.releaseOrphans({
      kind: kind.name,
      process: presence.id,
      ids: [...this.held.keys()],
      missed: this.missed,
    });
    return 0;
  }
}
