import type { Pool } from 'pg';
import type { TenantDirectory } from '../../command-handling/tenant-directory.js';
import { WAITS_MS } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../policies/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import type { PaymentConnections } from '../payment-connections.js';
import { ProviderFailure, type PaymentProvider, type ProviderCalls } from '../payment-provider.js';
import { claimSyncs, endSync, keepSync, type ClaimedSync, type SyncEnd } from './payment-rows.js';
import { syncPage, type SyncParts } from './payment-sync.js';

export interface DailySyncsParts extends SyncParts {
  /** Its connections are shared with other background work. */
  readonly pool: Pool;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly connections: Pick<PaymentConnections, 'current'>;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<Pick<PaymentProvider, 'calls'>>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly onEnd?: (end: SyncEnd['kind']) => void;
}

/** Walks of this process at once, one of each tenant and mode. */
const AT_ONCE = 4;
/** Then others that are due go first. */
const SLICE_MS = 20_000;
const POLL_MS = 1_000;
const RETRY = { first: 100, max: 5_000 };
/** The provider did not answer, or refused. */
const PROVIDER_RETRY = { first: 5_000, max: 3_600_000 };
/** The log or the keys did not answer. */
const STORES_AWAY_MS = 5_000;
const SUSPENDED_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** How far back a walk looks. */
const SYNCED_DAYS = 3;

/**
 * Walks the provider of every connected tenant and mode once a day, page by page, for what no event
 * told. Any number of processes share the work. A walk has a place of its own for some seconds; a
 * slow provider holds up the walks of others no longer than that.
 */
export class DailySyncs {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private readonly underWay = new Set<Promise<void>>();
  private wake: () => void = () => undefined;
  private readAt = 0;
  private problem: string | null = null;

  constructor(private readonly parts: DailySyncsParts) {}

  start(): void {
    this.readAt = elapsed();
    this.running ??= this.work();
  }

  /** Pages under way end, and are recorded. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await Promise.all(this.underWay);
  }

  /** For the health page: how long it could not read what is due. */
  status(): { readonly stillSeconds: number; readonly lastError: string | null } {
    const works = this.running !== undefined && !this.stopping.signal.aborted;
    return {
      stillSeconds: works ? (elapsed() - this.readAt) / 1_000 : 0,
      lastError: works ? this.problem : null,
    };
  }

  private async work(): Promise<void> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.claim();
        failures = 0;
        this.readAt = elapsed();
        this.problem = null;
        await this.rest(POLL_MS);
      } catch (error) {
        this.problem = describeFailure(error);
        await this.rest(backOffMs(failures++, RETRY));
      }
    }
  }

  private async claim(): Promise<void> {
    const room = AT_ONCE - this.underWay.size;
    if (room <= 0) return;
    const { pool, presence } = this.parts;
    for (const claimed of await claimSyncs(pool, presence.id, room)) {
      const slice: Promise<void> = this.slice(claimed).finally(() => {
        this.underWay.delete(slice);
        this.wake();
      });
      this.underWay.add(slice);
    }
  }

  /** Never rejects: what cannot be recorded goes on when the claim lapses. */
  private async slice(claimed: ClaimedSync): Promise<void> {
    const { pool, presence, logger, onEnd } = this.parts;
    const { tenant, mode } = claimed;
    try {
      const end = await this.walked(claimed);
      if (end === undefined) return;
      onEnd?.(end.kind);
      if (end.kind === 'failed')
        logger.warn({ tenant, mode, error: end.reason }, 'a payment provider could not be walked');
      await endSync(pool, { tenant, mode, process: presence.id }, end);
    } catch (error) {
      logger.warn({ error: describeFailure(error) }, 'a walk of a payment provider was lost');
    }
  }

  private async walked(claimed: ClaimedSync): Promise<SyncEnd | undefined> {
    try {
      const calls = await this.callsOf(claimed);
      return 'kind' in calls ? calls : await this.pages(claimed, calls);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) {
        this.problem = describeFailure(error);
        return { kind: 'postponed', inMs: STORES_AWAY_MS };
      }
      const inMs = backOffMs(claimed.failures, PROVIDER_RETRY);
      // A page that the provider refuses would be refused again.
      return {
        kind: 'failed',
        inMs,
        reason: error.message,
        beginsAnew: error.kind === 'refused',
      };
    }
  }

  private async callsOf({ tenant: alias, mode }: Scope): Promise<SyncEnd | ProviderCalls> {
    const tenant = await this.parts.tenants.read(alias);
    if (tenant === undefined) return { kind: 'not-connected' };
    if (tenant.suspended !== null) return { kind: 'postponed', inMs: SUSPENDED_MS };
    const connection = await this.parts.connections.current(tenant, mode);
    if (connection === undefined) return { kind: 'not-connected' };
    return (await this.parts.provider()).calls(connection);
  }

  /** Undefined: another process has the walk. */
  private async pages(
    { tenant, mode, cursor: first, ...claimed }: ClaimedSync,
    calls: ProviderCalls,
  ): Promise<SyncEnd | undefined> {
    const { pool, presence } = this.parts;
    const [scope, until] = [{ tenant, mode }, elapsed() + SLICE_MS];
    const since = claimed.since?.getTime() ?? sinceOf(claimed.lastSyncAt);
    for (let cursor = first; ;) {
      const { next } = await syncPage(this.parts, scope, { calls, since, cursor });
      if (next === null) return { kind: 'done' };
      cursor = next;
      const claim = { ...scope, process: presence.id };
      if (!(await keepSync(pool, claim, { since, cursor }))) return undefined;
      if (this.stopping.signal.aborted || elapsed() > until) return { kind: 'more' };
    }
  }

  private async rest(ms: number): Promise<void> {
    const { signal } = this.stopping;
    const waking = new AbortController();
    this.wake = () => waking.abort();
    signal.addEventListener('abort', this.wake, { once: true });
    if (!signal.aborted) await pause(ms, waking.signal);
    signal.removeEventListener('abort', this.wake);
    this.wake = () => undefined;
  }
}

/** The last days, and all since the last walk; what is older than 30 days does not count. */
function sinceOf(lastSyncAt: Date | null): number {
  const now = timeNow();
  const last = lastSyncAt?.getTime() ?? now;
  return Math.max(now - WAITS_MS, Math.min(now - SYNCED_DAYS * DAY_MS, last - DAY_MS));
}
