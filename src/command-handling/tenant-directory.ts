import { createHash, timingSafeEqual } from 'node:crypto';
import type { Mode } from '../domain/scope.js';
import type { OpenTenant, TenantState } from '../domain/tenant/tenant.decider.js';
import { EventLogUnavailable } from '../event-log/event-log.js';
import { inTime, NoAnswerInTime } from '../foundation/in-time.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/**
 * How long a cached tenant is used without reading. Every change is announced (Postgres NOTIFY).
 */
const FRESH_MS = 2_000;

/** How long a request waits for a silent log when the tenant is cached. */
const LOG_WAIT_MS_MAX = 1_000;

/** Loads a tenant's stream. */
interface TenantStreams {
  load(stream: string): Promise<{ readonly state: TenantState }>;
}

/**
 * The tenants, cached for every request. An unknown tenant or a wrong key is never answered from
 * the cache: the stream is read first. Other changes are announced and take effect at the next
 * request. While the log is unavailable, the cached tenant stays valid, so that projections can be
 * read: an unavailable log does not change.
 */
export class TenantDirectory {
  private readonly known = new Map<string, { tenant: OpenTenant; until: number }>();
  /** Announcements so far: a read that spans one may lack that change. */
  private changes = 0;

  constructor(
    private readonly tenants: TenantStreams,
    private readonly names: KeyedNames,
    private readonly clock: () => number = timeNow,
  ) {}

  async find(alias: string): Promise<OpenTenant | undefined> {
    const known = this.known.get(alias);
    if (known === undefined) return this.read(alias);
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

  /** Reads the tenant from the log. */
  async read(alias: string): Promise<OpenTenant | undefined> {
    if (!isAlias(alias)) return undefined;
    const before = this.changes;
    const { state } = await this.tenants.load(this.names.tenantStream(alias));
    if (state.status === 'absent') return undefined;
    if (this.changes === before)
      this.known.set(alias, { tenant: state, until: this.clock() + FRESH_MS });
    return state;
  }

  /** A change was announced: the next request reads the tenant again. */
  forget(alias: string): void {
    this.changes++;
    this.known.delete(alias);
  }

  /**
   * Announcements may have been missed: the next request of each tenant reads it again. The tenants
   * stay cached, since the log may be unavailable for the same reason.
   */
  distrust(): void {
    this.changes++;
    for (const [alias, known] of this.known) this.known.set(alias, { ...known, until: 0 });
  }

  /** The log lost its end: cached tenants may rest on lost events. */
  forgetAll(): void {
    this.changes++;
    this.known.clear();
  }

  /** The key's mode and id; undefined: unknown or expired. */
  async authenticate(
    alias: string,
    key: string,
  ): Promise<{ readonly mode: Mode; readonly keyId: string } | undefined> {
    const known = await this.find(alias);
    return this.match(known, key) ?? this.match(await this.read(alias), key);
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
