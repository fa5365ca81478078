import { createHash, timingSafeEqual } from 'node:crypto';
import { modeOf, type LedgerMode, type Mode, type Scope } from '../domain/scope.js';
import type { OpenTenant, TenantState } from '../domain/tenant/tenant.decider.js';
import { clockOffset, ledgerOf, type TestClock } from '../domain/tenant/test-clock.js';
import { EventLogUnavailable } from '../event-log/event-log.js';
import { withTimeout, TimeoutError } from '../foundation/timeout.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/** How long a cached tenant is used without reading; changes are announced. */
const FRESH_MS = 2_000;

/** How long a request waits for a silent log when the tenant is cached. */
const LOG_WAIT_MS_MAX = 1_000;

interface TenantStreams {
  load(stream: string): Promise<{ readonly state: TenantState }>;
}

/** A tenant as it was read. */
interface CachedTenant {
  readonly tenant: OpenTenant;
  /** Until then requests use it without reading. */
  readonly until: number;
}

/** A read of a tenant, shared by concurrent callers. */
interface RunningRead {
  readonly tenant: Promise<OpenTenant | undefined>;
}

/**
 * The tenants, cached for every request; concurrent callers share one read per tenant. Changes are
 * announced, take effect at the next request, and start a new read. While the log is unavailable
 * the cached tenant stays valid, so that projections can be read: an unavailable log does not
 * change.
 */
export class TenantDirectory {
  private readonly known = new Map<string, CachedTenant>();
  /** Running reads that no announcement has overtaken. */
  private readonly readings = new Map<string, RunningRead>();

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
      return await withTimeout(this.read(alias), LOG_WAIT_MS_MAX);
    } catch (error) {
      const away =
        error instanceof TimeoutError
          ? new EventLogUnavailable('the event log does not answer')
          : error;
      // An announcement in the meantime removed the tenant; another waiting request may have read
      // it.
      const latest = this.known.get(alias);
      // The request waits for the slow log, within the log's own time limit.
      if (latest === undefined && error instanceof TimeoutError) return this.read(alias);
      if (!(away instanceof EventLogUnavailable) || latest === undefined) throw away;
      this.known.set(alias, { ...latest, until: this.clock() + FRESH_MS });
      return latest.tenant;
    }
  }

  /** The time in a ledger; in test mode that of the tenant's test clock. Epoch milliseconds. */
  async now({ tenant: alias, mode }: Scope, real = timeNow()): Promise<number> {
    const tenant = mode === 'live' ? undefined : await this.find(alias);
    return tenant === undefined ? real : ledgerTime(tenant, mode, real);
  }

  /** The current ledger of a tenant and mode. */
  async ledger(scope: Scope): Promise<Scope> {
    const tenant = scope.mode === 'live' ? undefined : await this.find(scope.tenant);
    return tenant === undefined ? scope : ledgerOf(tenant, modeOf(scope.mode));
  }

  /** Reads the tenant from the log, or shares a running read. */
  async read(alias: string): Promise<OpenTenant | undefined> {
    if (!isAlias(alias)) return undefined;
    const shared = this.readings.get(alias);
    if (shared !== undefined) return shared.tenant;
    const reading: RunningRead = {
      tenant: this.readNow(alias, () => this.readings.get(alias) === reading),
    };
    this.readings.set(alias, reading);
    try {
      return await reading.tenant;
    } finally {
      if (this.readings.get(alias) === reading) this.readings.delete(alias);
    }
  }

  /** Reads the tenant with everything recorded before the call: shares no running read. */
  readFresh(alias: string): Promise<OpenTenant | undefined> {
    this.forget(alias);
    return this.read(alias);
  }

  /** @param isLatest false when a change was announced meanwhile: the result may lack it. */
  private async readNow(alias: string, isLatest: () => boolean): Promise<OpenTenant | undefined> {
    const { state } = await this.tenants.load(this.names.tenantStream(alias));
    const tenant = state.status === 'absent' ? undefined : state;
    if (!isLatest()) return tenant;
    if (tenant !== undefined) this.known.set(alias, { tenant, until: this.clock() + FRESH_MS });
    return tenant;
  }

  /** A change was announced: the next request reads the tenant again. */
  forget(alias: string): void {
    this.readings.delete(alias);
    this.known.delete(alias);
  }

  /**
   * Announcements may have been missed: the next request of each tenant reads it again. The tenants
   * stay cached, since the log may be unavailable for the same reason.
   */
  expireAll(): void {
    this.readings.clear();
    for (const [alias, { tenant }] of this.known) this.known.set(alias, { tenant, until: 0 });
  }

  /** The log lost its end: cached tenants may contain lost events. */
  forgetAll(): void {
    this.expireAll();
    this.known.clear();
  }

  /** The key's mode and id; undefined: unknown or expired. */
  async authenticate(
    alias: string,
    key: string,
  ): Promise<{ readonly mode: Mode; readonly keyId: string } | undefined> {
    const known = await this.find(alias);
    // An announcement may be late: a new key is valid at the next request.
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

/** As `TenantDirectory.now`, of a given tenant. */
export const ledgerTime = (
  tenant: Pick<TestClock, 'testOffsetMs'>,
  mode: LedgerMode,
  real = timeNow(),
): number => real + clockOffset(tenant, mode);

/** A key has 192 random bits, so a plain hash cannot be guessed. */
export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex');

export const ALIAS = /^[a-z0-9_-]{1,64}$/;
export const isAlias = (alias: string): boolean => ALIAS.test(alias);
