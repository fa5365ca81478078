import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { WAITS_MS } from '../../domain/customer/customer.state.js';
import { modeOf, scopeOf, type Scope } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs } from '../../foundation/pause.js';
import { timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import {
  againIn,
  DONE,
  postponedFor,
  type ClaimedWork,
  type WorkOutcome,
  type WorkStore,
} from '../../work-queue/work-items.js';
import { Worker, type WorkerParts } from '../../work-queue/worker.js';
import type { PaymentConnections } from '../payment-connections.js';
import { ProviderFailure, type PaymentProvider, type ProviderCalls } from '../payment-provider.js';
import { DAY_MS, WALKS, type ProviderRows } from './payment-rows.js';
import { syncPage, type SyncParts } from './payment-sync.js';

export interface DailySyncsParts extends SyncParts, Pick<WorkerParts, 'presence'> {
  readonly work: WorkStore;
  readonly rows: Pick<ProviderRows, 'noteSync' | 'walkedAt'>;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly connections: Pick<PaymentConnections, 'current'>;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<Pick<PaymentProvider, 'calls'>>;
  readonly logger: Pick<Logger, 'warn'>;
  /** @returns how many keys were looked at. */
  readonly endWaitedKeys: () => Promise<number>;
  readonly onEnd?: (end: SeenSync) => void;
}

/** For metrics: the outcome of a page of a walk. */
export type SeenSync = 'done' | 'more' | 'not-connected' | 'postponed' | 'suspended' | 'failed';

/** Walks of this process at once, one of each tenant and mode. */
const AT_ONCE = 4;
/** A page is called for and recorded within this time, or another process may call for it. */
const LEASE_MS = 60_000;
/** The provider did not answer, or refused. */
const PROVIDER_RETRY = { first: 5_000, max: 3_600_000 };
const SUSPENDED_MS = 3_600_000;
/** How far back a walk looks. */
const SYNCED_DAYS = 3;
const KEYS = { everyMs: 3_600_000, moreMs: 1_000 };

/**
 * Walks the provider of every connected tenant and mode once a day, page by page, for what no event
 * said. Any number of processes share the work. After each page the other walks that are due come
 * first: a slow provider holds up its own walk alone. The keys of customers that no account has got
 * end as well.
 */
export class DailySyncs {
  readonly worker: Worker;

  constructor(private readonly parts: DailySyncsParts) {
    this.worker = new Worker({
      store: parts.work,
      presence: parts.presence,
      describe: describeFailure,
      sideWork: [{ work: parts.endWaitedKeys, ...KEYS }],
      kind: {
        name: WALKS,
        atOnce: AT_ONCE,
        ofTenant: AT_ONCE,
        leaseMs: LEASE_MS,
        perform: (item) => this.walk(item),
      },
    });
  }

  private async walk(item: ClaimedWork): Promise<WorkOutcome> {
    const scope = scopeOf({ tenant: item.tenant, mode: item.lane });
    try {
      const calls = await this.callsOf(scope);
      if (calls === 'not-connected') return this.end(calls, DONE);
      if (calls === 'suspended')
        return this.end(calls, { ...postponedFor(SUSPENDED_MS), waits: true });
      return await this.page(scope, item, calls);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) {
        this.parts.onEnd?.('postponed');
        throw error;
      }
      const { message, kind } = error;
      const line = { ...scope, error: message };
      this.parts.logger.warn(line, 'a payment provider could not be walked');
      // A page that the provider refuses would be refused again.
      const payload = kind === 'refused' ? {} : item.payload;
      const inMs = backOffMs(item.attempts - 1, PROVIDER_RETRY);
      return this.end('failed', { ...againIn(inMs, message), payload });
    }
  }

  private end(seen: SeenSync, outcome: WorkOutcome): WorkOutcome {
    this.parts.onEnd?.(seen);
    return outcome;
  }

  private async callsOf({
    tenant: alias,
    mode,
  }: Scope): Promise<'not-connected' | 'suspended' | ProviderCalls> {
    const tenant = await this.parts.tenants.read(alias);
    if (tenant === undefined) return 'not-connected';
    if (tenant.suspended !== null) return 'suspended';
    const connection = await this.parts.connections.current(tenant, mode);
    if (connection === undefined) return 'not-connected';
    return (await this.parts.provider()).calls(connection);
  }

  private async page(
    scope: Scope,
    { payload, waitingMs }: ClaimedWork,
    calls: ProviderCalls,
  ): Promise<WorkOutcome> {
    const { rows } = this.parts;
    const known = Number(payload['since']);
    const since = known > 0 ? known : sinceOf((await rows.walkedAt(scope))?.getTime(), waitingMs);
    const cursor = payload['cursor'] ?? null;
    const tenant = await this.parts.tenants.read(scope.tenant);
    const ledger = tenant === undefined ? scope : ledgerOf(tenant, modeOf(scope.mode));
    const { next } = await syncPage(this.parts, ledger, { calls, since, cursor });
    if (next !== null) {
      const page = { since: String(since), cursor: next };
      return this.end('more', { ...againIn(0), attempts: 0, payload: page });
    }
    await rows.noteSync(scope);
    return this.end('done', { ...againIn(DAY_MS), attempts: 0, payload: {}, waits: true });
  }
}

/**
 * The last days, and all since the last walk or, before the first, since the connection; what is
 * older than 30 days does not count.
 */
function sinceOf(walkedAt: number | undefined, waitingMs: number): number {
  const now = timeNow();
  const last = walkedAt ?? now - waitingMs - DAY_MS;
  return Math.max(now - WAITS_MS, Math.min(now - SYNCED_DAYS * DAY_MS, last - DAY_MS));
}
