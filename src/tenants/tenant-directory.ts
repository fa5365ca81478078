import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Mode } from '../domain/scope.js';
import type { OpenTenant, TenantState } from '../domain/tenant/tenant.decider.js';
import { EventLogUnavailable } from '../event-log/event-log.js';
import { inTime, NoAnswerInTime } from '../foundation/in-time.js';
import { upToEntries } from '../foundation/up-to-entries.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/**
 * How long a cached tenant is used without reading. Every change is announced (Postgres NOTIFY).
 */
const FRESH_MS = 2_000;

/**
 * So many refusals a second of an alias read the tenant: a change counts at the next request, its
 * announcement may be late. Further ones rest on the last reading for half a second, unless a
 * change is announced: so any number of wrong credentials costs some twenty reads a second.
 */
const REFUSALS_READ = 20;
const REFUSAL_MS = 500;
/** A request that has just had the tenant read does not read it again. */
const JUST_READ_MS = 20;

/** Aliases that are remembered for refusals: some 200 bytes each, 4 MiB in all. */
const REFUSED_MAX = 10_000;

/** How long a request waits for a silent log when the tenant is cached. */
const LOG_WAIT_MS_MAX = 1_000;

/** Loads a tenant's stream. */
interface TenantStreams {
  load(stream: string): Promise<{ readonly state: TenantState }>;
}

/** A tenant as it was read. */
interface Known {
  readonly tenant: OpenTenant;
  /** Until then requests use it without reading. */
  readonly until: number;
  /** When its reading began. */
  readonly readAt: number;
}

/** The refusals of an alias within a second. */
interface Refused {
  readonly since: number;
  count: number;
}

/** A reading of a tenant, for all who need one while it lasts. */
interface Reading {
  readonly tenant: Promise<OpenTenant | undefined>;
}

/**
 * The tenants, cached for every request. Of a tenant at most one reading is under way, and all who
 * need one share it; after an announced change the next one begins anew. Of many refusals (an
 * unknown tenant, a wrong key) most rest on a reading that is at most half a second old. Other
 * changes are announced and take effect at the next request. While the log is unavailable, the
 * cached tenant stays valid, so that projections can be read: an unavailable log does not change.
 */
export class TenantDirectory {
  private readonly known = new Map<string, Known>();
  /** Aliases without a tenant, and when the reading began that found none. */
  private readonly unknown = new LRUCache<string, number>(upToEntries(REFUSED_MAX));
  private readonly refused = new LRUCache<string, Refused>(upToEntries(REFUSED_MAX));
  /** The readings under way that no announcement has overtaken. */
  private readonly readings = new Map<string, Reading>();

  constructor(
    private readonly tenants: TenantStreams,
    private readonly names: KeyedNames,
    private readonly clock: () => number = timeNow,
  ) {}

  async find(alias: string): Promise<OpenTenant | undefined> {
    const known = this.known.get(alias);
    if (known === undefined)
      return this.mayRefuse(alias, this.unknown.get(alias)) ? undefined : this.read(alias);
    if (known.until > this.clock()) return known.tenant;
    try {
      return await inTime(this.read(alias), LOG_WAIT_MS_MAX);
    } catch (error) {
      const away =
        error instanceof NoAnswerInTime
          ? new EventLogUnavailable('the event log does not answer')
          : error;
      // An announcement in the meantime removed the tenant; another waiting request may have read
      // it.
      const latest = this.known.get(alias);
      // Then the request waits for the slow log, within the log's own time limit.
      if (latest === undefined && error instanceof NoAnswerInTime) return this.read(alias);
      if (!(away instanceof EventLogUnavailable) || latest === undefined) throw away;
      this.known.set(alias, { ...latest, until: this.clock() + FRESH_MS });
      return latest.tenant;
    }
  }

  /** Reads the tenant from the log, or shares the reading that is under way. */
  async read(alias: string): Promise<OpenTenant | undefined> {
    if (!isAlias(alias)) return undefined;
    const shared = this.readings.get(alias);
    if (shared !== undefined) return shared.tenant;
    const reading: Reading = {
      tenant: this.readNow(alias, () => this.readings.get(alias) === reading),
    };
    this.readings.set(alias, reading);
    try {
      return await reading.tenant;
    } finally {
      if (this.readings.get(alias) === reading) this.readings.delete(alias);
    }
  }

  /**
   * The tenant for a second look at credentials that were wrong for the cached one. Undefined: the
   * cached one is as recent as one of many refusals needs.
   */
  async readForRefusal(alias: string): Promise<OpenTenant | undefined> {
    return this.mayRefuse(alias, this.known.get(alias)?.readAt) ? undefined : this.read(alias);
  }

  /** Counts a refusal. @returns whether it may rest on what was read then. */
  private mayRefuse(alias: string, readAt: number | undefined): boolean {
    const now = this.clock();
    const known = this.refused.get(alias);
    // A clock that was set back begins anew, and makes nothing recent.
    const isOver = known === undefined || now < known.since || now - known.since >= 1_000;
    const window = isOver ? { since: now, count: 0 } : known;
    window.count += 1;
    this.refused.set(alias, window);
    if (readAt === undefined || readAt > now) return false;
    return now - readAt < (window.count > REFUSALS_READ ? REFUSAL_MS : JUST_READ_MS);
  }

  /** @param isLatest false when a change was announced meanwhile: the result may lack it. */
  private async readNow(alias: string, isLatest: () => boolean): Promise<OpenTenant | undefined> {
    const readAt = this.clock();
    const { state } = await this.tenants.load(this.names.tenantStream(alias));
    const tenant = state.status === 'absent' ? undefined : state;
    if (!isLatest()) return tenant;
    if (tenant === undefined) this.unknown.set(alias, readAt);
    else this.known.set(alias, { tenant, until: this.clock() + FRESH_MS, readAt });
    return tenant;
  }

  /** A change was announced: the next request reads the tenant again. */
  forget(alias: string): void {
    this.readings.delete(alias);
    this.unknown.delete(alias);
    this.known.delete(alias);
  }

  /**
   * Announcements may have been missed: the next request of each tenant reads it again. The tenants
   * stay cached, since the log may be unavailable for the same reason.
   */
  distrust(): void {
    this.readings.clear();
    this.unknown.clear();
    for (const [alias, { tenant }] of this.known)
      this.known.set(alias, { tenant, until: 0, readAt: -Infinity });
  }

  /** The log lost its end: cached tenants may rest on lost events. */
  forgetAll(): void {
    this.distrust();
    this.known.clear();
  }

  /** The key's mode and id; undefined: unknown or expired. */
  async authenticate(
    alias: string,
    key: string,
  ): Promise<{ readonly mode: Mode; readonly keyId: string } | undefined> {
    const known = await this.find(alias);
    return this.match(known, key) ?? this.match(await this.readForRefusal(alias), key);
  }

  private match(
    tenant: OpenTenant | undefined,
    key: string,
  ): { readonly mode: Mode; readonly keyId: string } | undefined {
    const hash = Buffer.from(hashOfKey(key), 'hex');
    const now = this.clock();
    const found = tenant?.keys.find((candidate) =>
      timingSafeEqual(Buffer.from(candidate.hash, 'hex'), hash),
    );
    return found && (found.validUntil === null || found.validUntil > now)
      ? { mode: found.mode, keyId: found.keyId }
      : undefined;
  }
}

/** A key has 192 random bits, so a plain hash cannot be guessed. */
export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex');

export const isAlias = (alias: string): boolean => /^[a-z0-9_-]{1,64}$/.test(alias);
