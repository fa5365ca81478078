import type { AccountRequest } from '../src/domain/account/requests/account-request.js';
import type { ModerationAction } from '../src/domain/moderation/moderation.decider.js';
import type { Written } from '../src/http/writing/command-gateway.js';
import { accountOfId } from '../src/privacy/keyed-names.js';
import { PURCHASE } from './programs.js';
import type { SeededRandom } from './seeded-random.js';

const DAY_MS = 86_400_000;
/** Begins the name of an account that is known by its hash. */
export const BY_REF = 'ref:';

/** What a client asks for. */
export type Wish =
  | { readonly kind: 'account'; readonly accountId: string; readonly request: AccountRequest }
  | {
      readonly kind: 'moderation';
      readonly actions: readonly {
        readonly referralId: string;
        readonly action: ModerationAction;
      }[];
    };

/** A user whom clients believe to exist. */
interface KnownUser {
  readonly accountId: string;
  readonly userId: string;
}

interface KnownReward {
  readonly rewardId: string;
  readonly assigned: number;
  readonly unit: string;
  readonly referralId: string | null;
}

/** What the clients know together: a small world, so that they collide. */
export class KnownWorld {
  readonly accounts: readonly string[];
  readonly users = ['ann', 'bob', 'cat'] as const;
  people: readonly KnownUser[] = [];
  codes: readonly string[] = [];
  rewards: readonly KnownReward[] = [];
  readonly referrals: string[] = [];
  /** The referrals of the newest moderation. */
  moderated: ReadonlySet<string> = new Set();
  private readonly rewardIds = new Set<string>();
  /** How many rewards of each account were looked at. */
  private readonly looked = new Map<string, number>();

  /** @param creditMax of a reward that a client gives. */
  constructor(
    accounts: number,
    readonly creditMax: number,
  ) {
    this.accounts = Array.from({ length: accounts }, (_, index) => `acc-${index}`);
  }

  /** What an accepted request tells. */
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
        this.codes = [...this.codes, event.code.value];
    const referralId = state.referral?.referralId;
    if (referralId !== undefined && !this.referrals.includes(referralId))
      this.referrals.push(referralId);
    if (wish.kind === 'account' && wish.request.type === 'UpsertUser') {
      const { accountId, request } = wish;
      const { userId } = request;
      if (!this.people.some((one) => one.accountId === accountId && one.userId === userId))
        this.people = [...this.people, { accountId, userId }];
    }
  }

  /** What a refused request tells: mostly it is not tried again. */
  unlearn(wish: Wish, refusal: string): void {
    if (wish.kind === 'moderation') return;
    const { accountId, request } = wish;
    if (refusal === 'REWARD_NOT_FOUND' && 'rewardId' in request)
      this.rewards = this.rewards.filter(({ rewardId }) => rewardId !== request.rewardId);
    if (
      refusal === 'REFERRAL_CODE_NOT_FOUND' &&
      (request.type === 'ApplyCode' || request.type === 'ApplyDiscount')
    )
      this.codes = this.codes.filter((code) => code !== request.code);
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

const ACTIONS = ['APPROVED', 'DENIED', 'REFERRED_DENIED', 'REFERRER_DENIED'] as const;
/** Codes that several people want. */
const WANTED_CODES = ['GOLD', 'gold', 'SILVER'] as const;
const PROVIDER_IDS = ['pay-1', 'pay-2'] as const;
const BATCHES = ['batch-01', 'batch-02'] as const;
const NEWEST_REWARDS = 20;
const NEWEST_CODES = 10;
const UNKNOWN_REWARD: KnownReward = {
  rewardId: 'none',
  assigned: 1,
  unit: 'CENTS',
  referralId: null,
};
const NOBODY = { subject: '00000000-0000-4000-8000-000000000001', value: null };

type Random = Pick<SeededRandom, 'below' | 'onceIn' | 'oneOf' | 'weighted'>;

/** What the next wish may be about. */
interface Thing {
  readonly random: Random;
  readonly known: KnownWorld;
  readonly now: number;
  readonly userId: string;
  readonly accountId: string;
}

/** How often each kind is wished for: more of what has found faults. */
export const WISH_WEIGHTS = {
  sync: 10,
  user: 14,
  code: 6,
  discount: 4,
  block: 3,
  reward: 12,
  redeem: 16,
  redeemAll: 10,
  cancel: 6,
  moderate: 8,
  forgetUser: 2,
  forgetAccount: 1,
  adjust: 3,
  events: 6,
} as const;
export type WishWeights = Readonly<Record<keyof typeof WISH_WEIGHTS, number>>;

const WISHES: Readonly<Record<keyof WishWeights, (of: Thing) => AccountRequest>> = {
  sync: ({ random, known, accountId }) => ({
    type: 'SyncAccount',
    accountId,
    subscription: random.onceIn(3)
      ? { status: 'PAID', value: 1, billingIntervalType: 'MONTH', billingIntervalValue: 1 }
      : { status: random.oneOf(['TRIAL', 'FREE', 'CANCELLED'] as const) },
    currency: undefined,
    codes: someCodes(random, known),
  }),
  user: ({ random, known, userId }) => ({
    type: 'UpsertUser',
    userId,
    changes: { firstName: random.oneOf(['Ann', 'Bea', 'Cid']) },
    referralCode: random.onceIn(4) ? random.oneOf(WANTED_CODES) : undefined,
    referralCodes: {},
    paymentProviderId: random.onceIn(6) ? random.oneOf(PROVIDER_IDS) : undefined,
    codes: someCodes(random, known),
  }),
  code: ({ random, known, userId }) => ({
    type: 'ApplyCode',
    userId,
    code: known.codes.length > 0 ? random.oneOf(known.codes) : 'NONE',
  }),
  discount: ({ random, known }) => ({
    type: 'ApplyDiscount',
    code: known.codes.length > 0 ? random.oneOf(known.codes) : 'NONE',
    paymentProviderId: random.oneOf(PROVIDER_IDS),
  }),
  block: ({ random, userId }) => ({
    type: random.oneOf(['BlockUser', 'UnblockUser'] as const),
    userId,
  }),
  reward: ({ random, known, userId, now }) => ({
    type: 'CreateReward',
    userId,
    value: {
      type: 'CREDIT',
      unit: random.oneOf(['CENTS', 'cents', 'POINTS']),
      assignedCredit: 1 + random.below(known.creditMax),
      currency: null,
    },
    name: null,
    description: null,
    cancellable: !random.onceIn(4),
    dateScheduledFor: random.onceIn(5) ? now + random.below(3 * DAY_MS) : null,
    dateExpires: random.onceIn(4) ? now + 3 * DAY_MS + random.below(3 * DAY_MS) : null,
  }),
  redeem: ({ random, known }) => {
    const { rewardId, assigned, unit: own } = someReward(random, known);
    const limits = [assigned, assigned, assigned + 1, 1];
    const amount = random.onceIn(2) ? random.oneOf(limits) : 1 + random.below(300);
    return { type: 'RedeemCredit', rewardId, amount, unit: random.onceIn(8) ? 'POINTS' : own };
  },
  redeemAll: ({ random, known }) => ({
    type: 'RedeemAccountCredit',
    amount: 1 + random.below(random.onceIn(3) ? 600 : 2 * known.creditMax),
    unit: random.oneOf(['CENTS', 'POINTS']),
  }),
  cancel: ({ random, known }) => ({
    type: 'CancelReward',
    rewardId: someReward(random, known).rewardId,
  }),
  moderate: () => {
    throw new RangeError('a moderation is no request of one account');
  },
  forgetUser: ({ random, userId }) => ({
    type: 'ForgetUser',
    userId,
    doNotTrack: random.onceIn(4),
    preserveEmptyAccount: random.onceIn(2),
  }),
  forgetAccount: ({ random }) => ({ type: 'ForgetAccount', doNotTrack: random.onceIn(4) }),
  adjust: ({ random, userId }) => ({
    type: 'AdjustCredit',
    userId,
    unit: 'CENTS',
    amount: random.onceIn(2) ? 1 + random.below(50) : -1 - random.below(50),
    reason: 'corrected',
    approvedBy: NOBODY,
    by: NOBODY,
  }),
  events: ({ random, userId }) => ({
    type: 'ReceiveUserEvents',
    userId,
    events: Array.from({ length: 1 + random.below(3) }, () => ({
      id: undefined,
      key: random.oneOf([PURCHASE, PURCHASE, 'visit']),
      fields: { total: random.below(100) },
      dateTriggered: undefined,
    })),
    idempotencyKey: random.onceIn(3) ? random.oneOf(BATCHES) : undefined,
  }),
};

/** Makes up the next wish. @param now epoch milliseconds. */
export function nextWish(
  random: Random,
  known: KnownWorld,
  { weights, now }: { readonly weights: WishWeights; readonly now: number },
): Wish {
  // Without people most requests are refused.
  const isEmpty = known.people.length < known.accounts.length && random.onceIn(2);
  const kind = isEmpty ? random.oneOf(['sync', 'user'] as const) : random.weighted(weights);
  if (kind === 'moderate' && known.referrals.length > 0) {
    const many = random.onceIn(8) ? 100 : 4;
    const some = Array.from({ length: 1 + random.below(many) }, () =>
      random.oneOf(known.referrals),
    );
    known.moderated = new Set(some);
    const actions = [...known.moderated].map((referralId) => ({
      referralId,
      action: random.oneOf(ACTIONS),
    }));
    return { kind: 'moderation', actions };
  }
  const { accountId, userId } = someUser(random, known, kind);
  const thing = { random, known, now, userId, accountId };
  const request = WISHES[kind === 'moderate' ? 'reward' : kind](thing);
  if (!('rewardId' in request)) return { kind: 'account', accountId, request };
  return { kind: 'account', accountId: accountOfReward(request.rewardId, accountId), request };
}

/** Mostly one who exists; accounts and users that are made are anybody's. */
function someUser(
  random: Random,
  { people, accounts, users }: KnownWorld,
  kind: string,
): KnownUser {
  const isMade = kind === 'sync' || kind === 'user';
  if (people.length > 0 && !random.onceIn(isMade ? 2 : 16)) return random.oneOf(people);
  return { accountId: random.oneOf(accounts), userId: random.oneOf(users) };
}

const someCodes = (random: Random, { codes }: KnownWorld): readonly string[] =>
  codes.length > 0 && random.onceIn(2) ? [random.oneOf(codes.slice(-NEWEST_CODES))] : [];

/** Mostly one of the newest, often one whose referral somebody moderates at the same time. */
function someReward(random: Random, { rewards, moderated }: KnownWorld): KnownReward {
  const held = random.onceIn(2)
    ? rewards.filter(({ referralId }) => referralId !== null && moderated.has(referralId))
    : [];
  const choices = held.length > 0 ? held : rewards;
  if (choices.length === 0) return UNKNOWN_REWARD;
  return random.oneOf(random.onceIn(3) ? choices : choices.slice(-NEWEST_REWARDS));
}

/** The account of a reward is part of its id; the clients know it by that. */
const accountOfReward = (rewardId: string, otherwise: string): string =>
  accountOfId(rewardId) === undefined ? otherwise : `${BY_REF}${accountOfId(rewardId) ?? ''}`;
