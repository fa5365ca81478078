import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { WAITS_MS } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs } from '../../foundation/pause.js';
import { WorkLoop } from '../../foundation/work-loop.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import type { PaymentConnections } from '../payment-connections.js';
import { ProviderFailure, type PaymentProvider, type ProviderCalls } from '../payment-provider.js';
import type { ClaimedSync, ProviderRows, SyncEnd } from './payment-rows.js';
import { syncPage, type SyncParts } from './payment-sync.js';

export interface DailySyncsParts extends SyncParts {
  /** Its connections are shared with other background work. */
  readonly rows: ProviderRows;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly connections: Pick<PaymentConnections, 'current'>;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<Pick<PaymentProvider, 'calls'>>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** @returns how many keys were looked at. */
  readonly endWaitedKeys: () => Promise<number>;
  readonly onEnd?: (end: SeenSync) => void;
}

/** For metrics: how a turn of a walk ended. */
export type SeenSync = SyncEnd['kind'];

/** Walks of this process at once, one of each tenant and mode. */
const AT_ONCE = 4;
/** Then others that are due go first. */
const SLICE_MS = 20_000;
/** The provider did not answer, or refused. */
const PROVIDER_RETRY = { first: 5_000, max: 3_600_000 };
/** The log or the keys did not answer. */
const STORES_AWAY_MS = 5_000;
const SUSPENDED_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** How far back a walk looks. */
const SYNCED_DAYS = 3;
const KEYS = { everyMs: 3_600_000, moreMs: 1_000 };

/**
 * Walks the provider of every connected tenant and mode once a day, page by page, for what no event
 * told. Any number of processes share the work. A walk has a place of its own for some seconds; a
 * slow provider holds up the walks of others no longer than that. Beside it the keys of customers
 * end that no account has got.
 */
export class DailySyncs {
  readonly loop: WorkLoop;

  constructor(private readonly parts: DailySyncsParts) {
    this.loop = new WorkLoop({
      take: () => this.claim(),
      beside: [{ work: parts.endWaitedKeys, ...KEYS }],
      describe: describeFailure,
    });
  }

  private async claim(): Promise<number> {
    const room = AT_ONCE - this.loop.underWay.length;
    if (room <= 0) return 0;
    const { rows, presence } = this.parts;
    const claimed = await rows.claimSyncs(presence.id, room);
    for (const one of claimed) this.loop.carry(this.slice(one), one.tenant);
    return claimed.length;
  }

  /** Never rejects: what cannot be recorded goes on when the claim lapses. */
  private async slice(claimed: ClaimedSync): Promise<void> {
    const { rows, presence, logger, onEnd } = this.parts;
    const { tenant, mode } = claimed;
    try {
      const end = await this.walked(claimed);
      if (end === undefined) return;
      onEnd?.(end.kind);
      if (end.kind === 'failed')
        logger.warn({ tenant, mode, error: end.reason }, 'a payment provider could not be walked');
      await rows.endSync({ tenant, mode, process: presence.id }, end);
    } catch (error) {
      logger.warn({ error: describeFailure(error) }, 'a walk of a payment provider was lost');
    }
  }

  private async walked(claimed: ClaimedSync): Promise<SyncEnd | undefined> {
    try {
      const calls = await this.callsOf(claimed);
      const end = 'kind' in calls ? calls : await this.pages(claimed, calls);
      this.loop.worked();
      return end;
    } catch (error) {
      if (!(error instanceof ProviderFailure)) {
        this.loop.failed(error);
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
    if (tenant.suspended !== null) return { kind: 'suspended', inMs: SUSPENDED_MS };
    const connection = await this.parts.connections.current(tenant, mode);
    if (connection === undefined) return { kind: 'not-connected' };
    return (await this.parts.provider()).calls(connection);
  }

  /** Undefined: another process has the walk. */
  private async pages(
    { tenant, mode, cursor: first, ...claimed }: ClaimedSync,
    calls: ProviderCalls,
  ): Promise<SyncEnd | undefined> {
    const { rows, presence } = this.parts;
    const [scope, until] = [{ tenant, mode }, elapsed() + SLICE_MS];
    const since = claimed.since?.getTime() ?? sinceOf(claimed);
    for (let cursor = first; ;) {
      const { next } = await syncPage(this.parts, scope, { calls, since, cursor });
      if (next === null) return { kind: 'done' };
      cursor = next;
      const claim = { ...scope, process: presence.id };
      if (!(await rows.keepSync(claim, { since, cursor }))) return undefined;
      if (this.loop.signal.aborted || elapsed() > until) return { kind: 'more' };
    }
  }
}

/**
 * The last days, and all since the last walk or, before the first, since the connection; what is
 * older than 30 days does not count.
 */
function sinceOf({ lastSyncAt, lateSince }: Pick<ClaimedSync, 'lastSyncAt' | 'lateSince'>): number {
  const now = timeNow();
  const last = lastSyncAt?.getTime() ?? (lateSince?.getTime() ?? now) - DAY_MS;
  return Math.max(now - WAITS_MS, Math.min(now - SYNCED_DAYS * DAY_MS, last - DAY_MS));
}
