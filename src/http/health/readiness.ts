import { inTime, NoAnswerInTime } from '../../foundation/in-time.js';
import { elapsed } from '../../foundation/world.js';

/** The state of one dependency of the service, or of one projection. */
export interface HealthCheck {
  readonly ok: boolean;
  /**
   * Details for operators: lag, position, generation … Never an address, a secret or a client's id.
   */
  readonly [detail: string]: boolean | number | string | null;
}

export interface Readiness {
  /** Requests can be served. A single parked stream does not make the service unready. */
  readonly ready: boolean;
  /** Requests can be served, but background work stands still; its check says where. */
  readonly degraded?: boolean;
  /** By name: `postgres`, `event-log`, `projection rewards` … */
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

/** Answers within its own short time limits and does not reject. */
export interface ReadinessProbe {
  check(): Promise<Readiness>;
  /** Requests keep the stores busy. Default: never. */
  readonly isBusy?: () => boolean;
  /** When a request last failed because of a store, on the clock of `elapsed`. Default: never. */
  readonly failedAtMs?: () => number;
}

export const READINESS_PROBE = Symbol('readiness probe');

/** Anyone may ask, and a check is some forty statements. */
const FRESH_MS = 100;
/** A probe with a limit of 100 ms has its answer, while the stores are busy with others. */
const ANSWER_WITHIN_MS = 50;
/** As long as a check may take. */
const RECENT_MS = 2_000;

/** What a check found. */
interface Found {
  readonly readiness: Readiness;
  readonly atMs: number;
}

/**
 * Readiness without waiting for stores that requests keep busy. A check that takes longer than
 * 50 ms then goes on, and the one before, of the last 2 s, is answered, where that found the
 * service ready. What was not ready is checked anew, and waited for; so is what was ready before a
 * request failed because of a store.
 */
export class RecentReadiness implements ReadinessProbe {
  private checking: Promise<Readiness> | undefined;
  private last: Found | undefined;

  constructor(private readonly probe: ReadinessProbe) {}

  /** Checks at the same time share one. */
  check(): Promise<Readiness> {
    const fresh = this.readyWithin(FRESH_MS);
    if (fresh !== undefined) return Promise.resolve(fresh);
    this.checking ??= this.begin();
    const recent = this.probe.isBusy?.() ? this.readyWithin(RECENT_MS) : undefined;
    return recent === undefined ? this.checking : unlessLate(this.checking, recent);
  }

  private async begin(): Promise<Readiness> {
    const atMs = elapsed();
    try {
      const readiness = await this.probe.check();
      this.last = { readiness, atMs };
      return readiness;
    } finally {
      this.checking = undefined;
    }
  }

  private readyWithin(ms: number): Readiness | undefined {
    const { last } = this;
    if (last === undefined || elapsed() - last.atMs > ms) return undefined;
    const { failedAtMs = () => -Infinity } = this.probe;
    return last.readiness.ready && last.atMs > failedAtMs() ? last.readiness : undefined;
  }
}

/** The one before, where the check takes too long. */
async function unlessLate(checking: Promise<Readiness>, before: Readiness): Promise<Readiness> {
  try {
    return await inTime(checking, ANSWER_WITHIN_MS);
  } catch (error) {
    if (error instanceof NoAnswerInTime) return before;
    throw error;
  }
}
