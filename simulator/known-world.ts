import type { AccountCommand } from '../src/domain/account/account.decider.js';
import type { ModerationAction } from '../src/domain/moderation/moderation.decider.js';
import { availableCredit } from '../src/domain/account/rewards/redemption.js';
import { timeNow } from '../src/foundation/world.js';
import type { Written } from '../src/http/writing/command-gateway.js';

/** Begins the name of an account that is known by its hash. */
export const BY_REF = 'ref:';

/** What a client asks for. */
export type Wish =
  | { readonly kind: 'account'; readonly accountId: string; readonly request: AccountCommand }
  | {
      readonly kind: 'moderation';
      readonly actions: readonly {
        readonly referralId: string;
        readonly action: ModerationAction;
      }[];
    };

/** A user whom clients believe to exist. */
export interface KnownUser {
  readonly accountId: string;
  readonly userId: string;
}

export interface KnownReward {
  readonly rewardId: string;
  readonly assigned: number;
  readonly unit: string;
  readonly referralId: string | null;
}

interface KnownCode {
  readonly code: string;
  /** The hash of its owner's account. */
  readonly account: string;
}

/** What the clients know together: a small world, so that they collide. */
export class KnownWorld {
  readonly accounts: readonly string[];
  readonly users = ['ann', 'bob', 'cat'] as const;
  people: readonly KnownUser[] = [];
  codes: readonly KnownCode[] = [];
  rewards: readonly KnownReward[] = [];
  readonly referrals: string[] = [];
  /** The referrals of the newest moderation. */
  moderated: ReadonlySet<string> = new Set();
  /** Accounts that are not referred yet, by their hashes, and a user of each. */
  readonly unreferred = new Map<string, KnownUser>();
  /** By the hash of the account, and unit. */
  private readonly balances = new Map<string, number>();
  /** Of accounts, by their ids. */
  private readonly hashes = new Map<string, string>();
  private readonly rewardIds = new Set<string>();
  /** How many rewards of each account were looked at. */
  private readonly looked = new Map<string, number>();

  /** At the payment provider. */
  readonly customers: readonly string[];
  /** Whether accounts are opened with their first user. */
  readonly opensAccounts: boolean;

  /**
   * @param creditMax of a reward that a client gives.
   * @param customers of a connected tenant, at its provider; undefined: there is none.
   */
  constructor(
    accounts: number,
    readonly creditMax: number,
    customers?: readonly string[],
  ) {
    this.accounts = Array.from({ length: accounts }, (_, index) => `acc-${index}`);
    this.customers = customers ?? ['pay-1', 'pay-2'];
    this.opensAccounts = customers !== undefined;
  }

  /** What an accepted request shows. */
  learn(wish: Wish, { state, events }: Written): void {
    if (state.rewards.size > (this.looked.get(state.account) ?? 0))
      for (const { rewardId, value, referralId } of state.rewards.values())
        this.learnReward({
          rewardId,
          assigned: value.type === 'CREDIT' ? value.assignedCredit : 1,
          unit: value.type === 'CREDIT' ? value.unit : 'CENTS',
          referralId,
        });
    this.looked.set(state.account, state.rewards.size);
    for (const event of events)
      if (event.type === 'ReferralCodeAssigned' && event.code.value !== null)
        this.codes = [...this.codes, { code: event.code.value, account: state.account }];
    this.learnBalances({ wish, state });
    const referralId = state.referral?.referralId;
    if (referralId !== undefined && !this.referrals.includes(referralId))
      this.referrals.push(referralId);
    if (wish.kind === 'account' && wish.request.type === 'UpsertUser') {
      const { accountId, request } = wish;
      const { userId } = request;
      if (!this.people.some((one) => one.accountId === accountId && one.userId === userId))
        this.people = [...this.people, { accountId, userId }];
      if (referralId === undefined) this.unreferred.set(state.account, { accountId, userId });
    }
    if (referralId !== undefined) this.unreferred.delete(state.account);
  }

  private learnBalances({ wish, state }: { wish: Wish; state: Written['state'] }): void {
    if (wish.kind === 'account' && !wish.accountId.startsWith(BY_REF))
      this.hashes.set(wish.accountId, state.account);
    for (const unit of ['cents', 'points'])
      this.balances.set(`${state.account} ${unit}`, availableCredit(state, unit, timeNow()));
  }

  /** What can be spent by now, as far as the clients know. */
  balanceOf(accountId: string, unit: string): number {
    return this.balances.get(`${this.hashes.get(accountId) ?? ''} ${unit.toLowerCase()}`) ?? 0;
  }

  /** Codes of other accounts, newest last. */
  codesFor(accountId: string): readonly string[] {
    const own = this.hashes.get(accountId);
    return this.codes.filter(({ account }) => account !== own).map(({ code }) => code);
  }

  /** What a refused request shows: mostly it is not tried again. */
  unlearn(wish: Wish, refusal: string): void {
    if (wish.kind === 'moderation') return;
    const { accountId, request } = wish;
    if (refusal === 'REWARD_NOT_FOUND' && 'rewardId' in request)
      this.rewards = this.rewards.filter(({ rewardId }) => rewardId !== request.rewardId);
    if (
      refusal === 'REFERRAL_CODE_NOT_FOUND' &&
      (request.type === 'ApplyCode' || request.type === 'ApplyDiscount')
    )
      this.codes = this.codes.filter(({ code }) => code !== request.code);
    if (refusal === 'USER_NOT_FOUND' && 'userId' in request)
      this.people = this.people.filter(
        (one) => one.accountId !== accountId || one.userId !== request.userId,
      );
    if (refusal === 'ACCOUNT_NOT_FOUND')
      this.people = this.people.filter((one) => one.accountId !== accountId);
  }

  private learnReward(reward: KnownReward): void {
    if (this.rewardIds.has(reward.rewardId)) return;
    this.rewardIds.add(reward.rewardId);
    this.rewards = [...this.rewards, reward];
  }
}
