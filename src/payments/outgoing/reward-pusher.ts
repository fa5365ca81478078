import type { Commands } from '../../command-handling/commands.js';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { duePushes } from '../../domain/account/provider/reward-push.js';
import type { RewardState } from '../../domain/account/account.state.js';
import { clockOffset, isRemoved } from '../../domain/tenant/test-clock.js';
import { scopeOf, type AccountRef, type Scope } from '../../domain/scope.js';
import type { Logger } from '../../foundation/logger.js';
import { jitteredMs } from '../../foundation/pause.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { PaymentConnections } from '../payment-connections.js';
import { ProviderFailure, type PaymentProvider } from '../payment-provider.js';
import {
  againIn,
  DONE,
  laneName,
  postponedFor,
  type ClaimedWork,
  type WorkOutcome,
  type WorkStore,
} from '../../work-queue/work-items.js';
import { Worker, type WorkerParts } from '../../work-queue/worker.js';
import { movedWithTestClock, PAYMENTS, WAITS_FOR } from './payment-work.js';
import { AccountPushes, type PayingConnection, type PushTurn } from './reward-push.js';

export interface RewardPusherParts extends Pick<WorkerParts, 'presence'> {
  readonly work: WorkStore;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly connections: Pick<PaymentConnections, 'current'>;
  /** Loaded on first use. */
  readonly provider: () => Promise<Pick<PaymentProvider, 'calls'>>;
  readonly commands: Commands;
  readonly streams: Pick<ReadableStreams, 'accounts'>;
  readonly names: Pick<KeyedNames, 'accountStream'>;
  readonly logger: Pick<Logger, 'error'>;
  /** Called after each reward; `failed`: the provider gave no outcome. */
  readonly onTurn?: (turn: ObservedPush) => void;
}

export type ObservedPush = PushTurn | 'failed';

/** Concurrent accounts, of this process and of a tenant in it, with one call each. */
const CONCURRENCY = 32;
const AT_ONCE_OF_TENANT = 2;
/** First delays after a call without an outcome, and until a subscription is checked again. */
const RETRY_MS = 2_000;
const SUBSCRIPTION_CHECK_MS = 60_000;
/** Delay for a tenant that is suspended or not connected. */
const PAUSED_MS = 5_000;
/** The rest of an account follows in its next turn, so that claims do not lapse. */
const TURN_MS = 60_000;
/** Limit of all calls for an account; then another process may claim it. */
const LEASE_MS = 180_000;

interface AccountWork extends Scope {
  readonly account: AccountRef;
  /** Consecutive, including this one. */
  readonly attempts: number;
  readonly retriesParked: boolean;
}

const workOf = ({ tenant, lane, attempts, payload }: ClaimedWork): AccountWork => ({
  ...scopeOf({ tenant, mode: lane }),
  account: payload['account'] as AccountRef,
  attempts,
  retriesParked: payload['retriesParked'] !== undefined,
});

/**
 * Pays rewards through the payment provider, account by account. Tenants take turns, so that a slow
 * provider delays only its own tenant. Any number of processes share the work.
 */
export class RewardPusher {
  readonly worker: Worker;
  /** Paused lanes with their end, by the clock of `elapsed`. */
  private readonly paused = new Map<string, number>();

  constructor(private readonly parts: RewardPusherParts) {
    this.worker = new Worker({
      store: parts.work,
      presence: parts.presence,
      describe: describeFailure,
      kind: {
        name: PAYMENTS,
        concurrency: CONCURRENCY,
        ofTenant: AT_ONCE_OF_TENANT,
        leaseMs: LEASE_MS,
        lanes: () => Promise.resolve({ paused: this.pausedLanes() }),
        perform: (item, signal) => this.turn(workOf(item), signal),
      },
    });
  }

  private pausedLanes(): readonly string[] {
    for (const [lane, until] of this.paused) if (until <= elapsed()) this.paused.delete(lane);
    return [...this.paused.keys()];
  }

  private async turn(work: AccountWork, signal: AbortSignal): Promise<WorkOutcome> {
    const connection = await this.connectionFor(work);
    if (connection === 'removed') return DONE;
    if (connection !== 'unconnected')
      return new AccountTurn(this.parts, work, connection).run(signal);
    this.paused.set(laneName(work.tenant, work.mode), elapsed() + PAUSED_MS);
    return { ...postponedFor(0, WAITS_FOR.connection), waits: true };
  }

  private async connectionFor({
    tenant: alias,
    mode,
  }: Scope): Promise<PayingConnection | 'unconnected' | 'removed'> {
    const tenant = await this.parts.tenants.read(alias);
    if (tenant === undefined || tenant.suspended !== null) return 'unconnected';
    // The test data were removed.
    if (mode !== 'live' && isRemoved(tenant, { mode })) return 'removed';
    const connection = await this.parts.connections.current(tenant, mode);
    if (connection === undefined) return 'unconnected';
    const provider = await this.parts.provider();
    const { keySince, replaced } = connection;
    return {
      calls: provider.calls(connection),
      keySince,
      offsetMs: clockOffset(tenant, mode),
      before: replaced && { calls: provider.calls(replaced), keySince: replaced.keySince },
    };
  }
}

/** Pays all due rewards of one account, one call at a time. */
class AccountTurn {
  private readonly pushes: AccountPushes;
  private readonly had = new Set<string>();
  private failure: ProviderFailure | undefined;
  private waits = false;
  /** A discount's call has no outcome: other rewards must not change its subscription. */
  private isDiscountOpen = false;

  constructor(
    private readonly parts: RewardPusherParts,
    private readonly work: AccountWork,
    private readonly connection: PayingConnection,
  ) {
    this.pushes = new AccountPushes(parts, work, work.account, connection);
  }

  async run(signal: AbortSignal): Promise<WorkOutcome> {
    const began = elapsed();
    for (;;) {
      const { reward, nextAt } = await this.due();
      if (reward === undefined) return this.next(nextAt);
      if (signal.aborted || elapsed() - began > TURN_MS) return postponedFor(0);
      this.had.add(reward.rewardId);
      await this.push(reward);
    }
  }

  private now(): number {
    return timeNow() + this.connection.offsetMs;
  }

  private async due(): Promise<{ reward: RewardState | undefined; nextAt: number | null }> {
    const { retriesParked } = this.work;
    const now = this.now();
    const due = duePushes(await this.pushes.state(), { now, retriesParked });
    const reward = due.rewards.find(
      ({ rewardId, value }) =>
        !this.had.has(rewardId) && !(this.isDiscountOpen && value.type === 'PCT_DISCOUNT'),
    );
    return { reward, nextAt: due.nextAt };
  }

  private async push(reward: RewardState): Promise<void> {
    try {
      const turn = await this.pushes.push(reward);
      this.waits ||= turn === 'waits';
      // Retrying a parked reward parks it again.
      if (turn === 'refused' && reward.pushed?.status !== 'PARKED') await this.logParked(reward);
      this.parts.onTurn?.(turn);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      this.failure = error;
      this.isDiscountOpen ||= reward.value.type === 'PCT_DISCOUNT';
      this.parts.onTurn?.('failed');
    }
  }

  private async logParked({ rewardId }: RewardState): Promise<void> {
    const state = await this.pushes.state();
    const pushed = state.status === 'open' ? state.rewards.get(rewardId)?.pushed : undefined;
    if (pushed?.status !== 'PARKED') return;
    const { tenant, mode } = this.work;
    this.parts.logger.error(
      { tenant, mode, error: pushed.reason },
      'the payment provider refuses a reward: it is parked',
    );
  }

  private next(nextAt: number | null): WorkOutcome {
    const { attempts, account, mode } = this.work;
    if (this.failure !== undefined)
      return againIn(delayMs(RETRY_MS, attempts), this.failure.message);
    // Refused rewards were retried.
    const waiting = { payload: { account, ...movedWithTestClock(mode) }, waits: true } as const;
    if (this.waits)
      return {
        ...againIn(delayMs(SUBSCRIPTION_CHECK_MS, attempts), WAITS_FOR.subscription),
        ...waiting,
      };
    if (nextAt === null) return DONE;
    // The same clock found it not due yet.
    return { ...againIn(Math.max(0, nextAt - this.now())), ...waiting, attempts: 0 };
  }
}

/** Doubled each time up to an hour, with 20 % jitter. @param times consecutive, at least 1. */
const delayMs = (firstMs: number, times: number): number =>
  jitteredMs(Math.min(3_600_000, firstMs * 2 ** Math.min(times - 1, 20)));
