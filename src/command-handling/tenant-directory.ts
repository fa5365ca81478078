import { createHash, timingSafeEqual } from 'node:crypto';
import type { Mode } from '../domain/scope.js';
import type { OpenTenant, TenantState } from '../domain/tenant/tenant.decider.js';
import { EventLogUnavailable } from '../event-log/event-log.js';
import { inTime, NoAnswerInTime } from '../foundation/in-time.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/**
 * How long a tenant is taken as it was known, when no word of a change came. A word comes with
 * every change (Postgres NOTIFY).
 */
const TRUSTED_MS = 2_000;

/**
 * Longer than this no request waits for a log that says nothing, when it is known how the tenant
 * was.
 */
const PATIENCE_MS = 1_000;

/** Gives a tenant's stream as of now. */
interface TenantStreams {
  load(stream: string): Promise<{ readonly state: TenantState }>;
}

/**
 * Tenants as every request needs them: from memory, yet true to the log. A "no" (unknown tenant,
 * wrong key) is never answered from memory: the stream is read again first. Every other change is
 * announced, so it too counts at the next request. While the log is away or hangs, what is known
 * counts on, so that reads of projections are answered: nothing changes in a log that is away.
 */
export class TenantDirectory {
  private readonly known = new Map<string, { tenant: OpenTenant; until: number }>();
  /** How many changes were heard of: what was read while one came may lack it. */
  private changes = 0;

  constructor(
    private readonly tenants: TenantStreams,
    private readonly names: KeyedNames,
    private readonly clock: () => number = Date.now,
  ) {}

  async find(alias: string): Promise<OpenTenant | undefined> {
    const known = this.known.get(alias);
    if (known === undefined) return this.read(alias);
    if (known.until > this.clock()) return known.tenant;
    try {
      return await inTime(this.read(alias), PATIENCE_MS);
    } catch (error) {
      const away =
        error instanceof NoAnswerInTime
          ? new EventLogUnavailable('the event log does not answer')
          : error;
      // Nothing is left of it when a change was announced meanwhile; others that waited may have
      // renewed it.
      const latest = this.known.get(alias);
      // A slow log is waited for then, within its own limit.
      if (latest === undefined && error instanceof NoAnswerInTime) return this.read(alias);
      if (!(away instanceof EventLogUnavailable) || latest === undefined) throw away;
      this.known.set(alias, { ...latest, until: this.clock() + TRUSTED_MS });
      return latest.tenant;
    }
  }

  /** The tenant as the log has it now. */
  async read(alias: string): Promise<OpenTenant | undefined> {
    if (!isAlias(alias)) return undefined;
    const before = this.changes;
    const { state } = await this.tenants.load(this.names.tenantStream(alias));
    if (state.status === 'absent') return undefined;
    if (this.changes === before)
      this.known.set(alias, { tenant: state, until: this.clock() + TRUSTED_MS });
    return state;
  }

  /** A change was announced: the next request reads the tenant again. */
  forget(alias: string): void {
    this.changes++;
    this.known.delete(alias);
  }

  /**
   * Announcements may have been missed: the next request reads its tenant again. What is known
   * stays, in case the log is away: so it is just when announcements are missed.
   */
  distrust(): void {
    this.changes++;
    for (const [alias, known] of this.known) this.known.set(alias, { ...known, until: 0 });
  }

  /** The log lost its end: what is known of tenants may be in no log any more. */
  forgetAll(): void {
    this.changes++;
    this.known.clear();
  }

  /** The key's mode and id; undefined when it is none of this tenant's, or no longer good. */
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

/** A key has 192 random bits: a plain hash is enough, there is nothing to guess. */
export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex');

export const isAlias = (alias: string): boolean => /^[a-z0-9_-]{1,64}$/.test(alias);
