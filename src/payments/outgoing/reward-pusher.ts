import type { Commands } from '../../command-handling/commands.js';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { duePushes } from '../../domain/account/provider/reward-push.js';
import type { RewardState } from '../../domain/account/account.state.js';
import type { Scope } from '../../domain/scope.js';
import type { Logger } from '../../foundation/logger.js';
import { WorkLoop } from '../../foundation/work-loop.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { PaymentConnections } from '../payment-connections.js';
import { ProviderFailure, type PaymentProvider } from '../payment-provider.js';
import {
  scopeKey,
  WAITS_FOR,
  type ClaimedWork,
  type NextWork,
  type PaymentWork,
} from './payment-work.js';
import { lookAgainInMs, retryInMs } from './push-retries.js';
import { AccountPushes, type PayingConnection, type PushTurn } from './reward-push.js';

export interface RewardPusherParts {
  readonly work: PaymentWork;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly connections: Pick<PaymentConnections, 'current'>;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<Pick<PaymentProvider, 'calls'>>;
  readonly commands: Commands;
  readonly streams: Pick<ReadableStreams, 'accounts'>;
  readonly names: Pick<KeyedNames, 'accountStream'>;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** What came of a turn of a reward; `failed`: the provider gave no outcome. */
  readonly onTurn?: (turn: SeenPush) => void;
}

/** For metrics. */
export type SeenPush = PushTurn | 'failed';

/** Accounts at once, of this process and of one tenant in it: each waits for one call at a time. */
const AT_ONCE = 32;
const AT_ONCE_OF_TENANT = 2;
/** Of a tenant that is suspended or not connected. */
const PAUSED_MS = 5_000;
/** Of an account that could not be read or written. */
const AWAY_MS = 5_000;
/** Then the rest of an account comes in its next turn: a claim is not for ever. */
const TURN_MS = 60_000;

/**
 * Pays the rewards that the payment provider pays, account by account. The tenants come in turn, so
 * that a slow provider holds up its own tenant alone, and many of them leave room for others. Any
 * number of processes share the work.
 */
export class RewardPusher {
  readonly loop = new WorkLoop({
    take: () => this.claim(),
    beside: [],
    describe: describeFailure,
  });
  /** Until when, by the clock of `elapsed`. */
  private readonly paused = new Map<string, number>();
  private lastTenant = '';

  constructor(private readonly parts: RewardPusherParts) {}

  private async claim(): Promise<number> {
    const { underWay } = this.loop;
    const accounts = AT_ONCE - underWay.length;
    if (accounts === 0) return 0;
    for (const [scope, until] of this.paused) if (until <= elapsed()) this.paused.delete(scope);
    const claimed = await this.parts.work.claim({
      accounts,
      ofTenant: AT_ONCE_OF_TENANT,
      underWay,
      paused: [...this.paused.keys()],
      after: this.lastTenant,
    });
    for (const work of claimed) {
      this.lastTenant = work.tenant;
      this.loop.carry(this.turn(work), work.tenant);
    }
    return claimed.length;
  }

  /** Never rejects: a claim that cannot be released lapses. */
  private async turn(work: ClaimedWork): Promise<void> {
    try {
      const next = await this.nextOf(work).catch((error: unknown): NextWork => {
        this.loop.failed(error);
        return { ...postponed(work, AWAY_MS), reason: 'the ledger could not be read or written' };
      });
      await this.parts.work.release(work, next);
    } catch (error) {
      this.parts.logger.warn({ error: describeFailure(error) }, 'a claim could not be released');
    }
  }

  private async nextOf(work: ClaimedWork): Promise<NextWork> {
    const connection = await this.connectionFor(work);
    if (connection !== 'unconnected') {
      const next = await new AccountTurn(this.parts, work, connection).run(this.loop.signal);
      this.loop.worked();
      return next;
    }
    this.paused.set(scopeKey(work), elapsed() + PAUSED_MS);
    return { ...postponed(work, 0), reason: WAITS_FOR.connection };
  }

  private async connectionFor({
    tenant: alias,
    mode,
  }: Scope): Promise<PayingConnection | 'unconnected'> {
    const tenant = await this.parts.tenants.read(alias);
    if (tenant === undefined || tenant.suspended !== null) return 'unconnected';
    const connection = await this.parts.connections.current(tenant, mode);
    if (connection === undefined) return 'unconnected';
    const provider = await this.parts.provider();
    const { keySince, replaced } = connection;
    return {
      calls: provider.calls(connection),
      keySince,
      before: replaced && { calls: provider.calls(replaced), keySince: replaced.keySince },
    };
  }
}

const postponed = (
  { failures, retriesParked }: ClaimedWork,
  ms: number,
): Extract<NextWork, { kind: 'later' }> => ({
  kind: 'later',
  after: { ms },
  failures,
  reason: null,
  retriesParked,
});

/** All that is due of one account, one call after the other. */
class AccountTurn {
  private readonly pushes: AccountPushes;
  private readonly had = new Set<string>();
  private failure: ProviderFailure | undefined;
  private waits = false;
  /** A discount whose call has no outcome: its subscription is not touched by another reward. */
  private isDiscountOpen = false;

  constructor(
    private readonly parts: RewardPusherParts,
    private readonly work: ClaimedWork,
    connection: PayingConnection,
  ) {
    this.pushes = new AccountPushes(parts, work, work.account, connection);
  }

  async run(signal: AbortSignal): Promise<NextWork> {
    const began = elapsed();
    for (;;) {
      const { reward, nextAt } = await this.due();
      if (reward === undefined) return this.next(nextAt);
      if (signal.aborted || elapsed() - began > TURN_MS) return postponed(this.work, 0);
      this.had.add(reward.rewardId);
      await this.push(reward);
    }
  }

  private async due(): Promise<{ reward: RewardState | undefined; nextAt: number | null }> {
    const { retriesParked } = this.work;
    const due = duePushes(await this.pushes.state(), { now: timeNow(), retriesParked });
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
      // A retry of a parked reward parks it anew.
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

  private next(nextAt: number | null): NextWork {
    const { retriesParked } = this.work;
    const failures = this.work.failures + 1;
    const later = { kind: 'later', failures, retriesParked: false } as const;
    if (this.failure !== undefined)
      return {
        ...later,
        after: { ms: retryInMs(failures) },
        reason: this.failure.message,
        retriesParked,
      };
    if (this.waits)
      return { ...later, after: { ms: lookAgainInMs(failures) }, reason: WAITS_FOR.subscription };
    if (nextAt !== null) return { ...later, after: { at: nextAt }, failures: 0, reason: null };
    return { kind: 'none' };
  }
}
