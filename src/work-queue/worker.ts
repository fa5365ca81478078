import { WorkLoop, type SideWork } from '../foundation/work-loop.js';
import {
  postponedFor,
  type ClaimedWork,
  type SettledWork,
  type WorkOutcome,
  type WorkRoom,
  type WorkStore,
} from './work-items.js';

/** A kind of work, and how much of it a process does concurrently. */
export interface WorkKind {
  readonly name: string;
  /** Items of this process. */
  readonly atOnce: number;
  /** Of these, items of one tenant. @param free places. */
  readonly ofTenant: number | ((free: number) => number);
  /** Items of one lane, in all processes; undefined: without a bound. */
  readonly ofLane?: number;
  /** Lanes that may have less for now. */
  readonly lanes?: () => Promise<Partial<Pick<WorkRoom, 'paused' | 'narrow'>>>;
  /** An attempt ends before; a process that is frozen leaves its items to others after it. */
  readonly leaseMs: number;
  /** @throws an error with a cause outside the item, such as an outage: the item is postponed. */
  readonly perform: (item: ClaimedWork, signal: AbortSignal) => Promise<WorkOutcome>;
}

export interface WorkerParts {
  readonly store: WorkStore;
  /** Of this process. */
  readonly presence: { readonly id: number };
  readonly kind: WorkKind;
  /** A line for the health page. */
  readonly describe: (error: unknown) => string;
  readonly sideWork?: readonly SideWork[];
}

const UNBOUNDED = 2 ** 31 - 1;
const ORPHANS_EVERY_MS = 2_500;
/** Delay after an error that `perform` threw. */
const AWAY_MS = 1_000;

/**
 * Works on the items of a kind. Any number of processes share them, tenant by tenant. Outcomes are
 * recorded together, before the next claim; during an outage of the database they wait in memory
 * and keep their places.
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
      beside: [
        { work: () => this.releaseOrphans(), everyMs: ORPHANS_EVERY_MS },
        ...(parts.sideWork ?? []),
      ],
      describe: parts.describe,
    });
  }

  /** Attempts under way end, and are recorded if the database is there. */
  async stop(): Promise<void> {
    await this.loop.stop();
    // Else the claims end with the process.
    await this.settle().catch(() => undefined);
  }

  private async take(): Promise<number> {
    await this.settle();
    const { store, kind, presence } = this.parts;
    const items = kind.atOnce - this.held.size;
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
    // Another process may have ended the claim of an item that this one still works on.
    const free = claimed.filter(({ id }) => !this.held.has(id));
    for (const item of free) this.begin(item);
    return free.length;
  }

  private begin(item: ClaimedWork): void {
    this.lastTenant = item.tenant;
    this.held.set(item.id, item);
    const work = this.perform(item).then((outcome) => void this.ended.push({ item, outcome }));
    this.loop.carry(work);
  }

  private async perform(item: ClaimedWork): Promise<WorkOutcome> {
    try {
      const outcome = await this.parts.kind.perform(item, this.loop.signal);
      this.loop.worked();
      return outcome;
    } catch (error) {
      this.loop.failed(error);
      return postponedFor(AWAY_MS, this.parts.describe(error));
    }
  }

  /** @throws while the database is unavailable: the outcomes keep their places. */
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
