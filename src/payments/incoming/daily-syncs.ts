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
  readonly rows: Pick<ProviderRows, 'recordSync' | 'walkedAt'>;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly connections: Pick<PaymentConnections, 'current'>;
  /** Loaded on first use. */
  readonly provider: () => Promise<Pick<PaymentProvider, 'calls'>>;
  readonly logger: Pick<Logger, 'warn'>;
  /** @returns the number of checked keys. */
  readonly destroyExpiredKeys: () => Promise<number>;
  readonly onEnd?: (end: ObservedSync) => void;
}

/** For metrics: the outcome of one page. */
export type ObservedSync = 'done' | 'more' | 'not-connected' | 'postponed' | 'suspended' | 'failed';

/** Concurrent walks of this process, one per tenant and mode. */
const CONCURRENCY = 4;
/** Another process may take over a page after this time. */
const LEASE_MS = 60_000;
/** Retry delays after a failure or a refusal of the provider. */
const PROVIDER_RETRY = { first: 5_000, max: 3_600_000 };
const SUSPENDED_MS = 3_600_000;
/** Least period that a walk covers. */
const SYNCED_DAYS = 3;
const KEYS = { everyMs: 3_600_000, moreMs: 1_000 };

/**
 * Reads the provider of every connected tenant and mode once a day, page by page, and records what
 * no event reported. Processes share the work. After each page, other due walks come first, so that
 * a slow provider delays only its own. Also destroys the keys of customers without an account.
 */
export class DailySyncs {
  readonly worker: Worker;

  constructor(private readonly parts: DailySyncsParts) {
    this.worker = new Worker({
      store: parts.work,
      presence: parts.presence,
      describe: describeFailure,
      sideWork: [{ work: parts.destroyExpiredKeys, ...KEYS }],
      kind: {
        name: WALKS,
        concurrency: CONCURRENCY,
        ofTenant: CONCURRENCY,
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
      // A refused page would be refused again, so the walk starts from the first one.
      const payload = kind === 'refused' ? {} : item.payload;
      const inMs = backOffMs(item.attempts - 1, PROVIDER_RETRY);
      return this.end('failed', { ...againIn(inMs, message), payload });
    }
  }

  private end(seen: ObservedSync, outcome: WorkOutcome): WorkOutcome {
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
    await rows.recordSync(scope);
    return this.end('done', { ...againIn(DAY_MS), attempts: 0, payload: {}, waits: true });
  }
}

/**
 * The last days, and the time since the last walk, or since the connection before the first walk;
 * never more than 30 days.
 */
function sinceOf(walkedAt: number | undefined, waitingMs: number): number {
  const now = timeNow();
  const last = walkedAt ?? now - waitingMs - DAY_MS;
  return Math.max(now - WAITS_MS, Math.min(now - SYNCED_DAYS * DAY_MS, last - DAY_MS));
}
