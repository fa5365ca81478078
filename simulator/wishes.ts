import type { AccountCommand } from '../src/domain/account/account.decider.js';
import { accountOfId } from '../src/privacy/keyed-names.js';
import {
  BY_REF,
  type KnownReward,
  type KnownUser,
  type KnownWorld,
  type Wish,
} from './known-world.js';
import { PURCHASE, RETURN } from './programs.js';
import type { AdditionName } from './releases.js';
import type { SeededRandom } from './seeded-random.js';

const DAY_MS = 86_400_000;
const ACTIONS = ['APPROVED', 'DENIED', 'REFERRED_DENIED', 'REFERRER_DENIED'] as const;
/** Codes that several people want. */
const WANTED_CODES = ['GOLD', 'gold', 'SILVER'] as const;
const EVENT_IDS = ['event-01', 'event-02', 'event-03'] as const;
/** Rows with an id that several accounts import. */
const ROWS = ['row-1', 'row-2', 'row-3', 'row-4', 'row-5', 'row-6'] as const;
const BATCHES = ['batch-01', 'batch-02'] as const;
const NEWEST_REWARDS = 20;
const NEWEST_CODES = 10;
const NEWEST_REFERRALS = 6;
const UNKNOWN_REWARD: KnownReward = {
  rewardId: 'none',
  assigned: 1,
  unit: 'CENTS',
  referralId: null,
};
const NO_PERSON = { subject: '00000000-0000-4000-8000-000000000001', value: null };

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
  /** Recorded rounds draw as they did before it. */
  importReward: 0,
} as const;
export type WishWeights = Readonly<Record<keyof typeof WISH_WEIGHTS, number>>;

/** The wishes that record what the newer of two releases adds. */
export const UPGRADED = {
  block: ['block'],
  events: ['events'],
  reward: ['reward', 'adjust'],
} as const satisfies Readonly<Record<AdditionName, readonly (keyof WishWeights)[]>>;

const WISHES: Readonly<Record<keyof WishWeights, (of: Thing) => AccountCommand>> = {
  sync: ({ random, known, accountId }) => ({
    type: 'SyncAccount',
    accountId,
    subscription: random.onceIn(3)
      ? { status: 'PAID', value: 1, billingIntervalType: 'MONTH', billingIntervalValue: 1 }
      : { status: random.oneOf(['TRIAL', 'FREE', 'CANCELLED'] as const) },
    currency: undefined,
    codes: someCodes(random, known, accountId),
  }),
  user: ({ random, known, userId, accountId }) => ({
    type: 'UpsertUser',
    userId,
    ...(known.opensAccounts && { openAccount: accountId }),
    changes: {
      firstName: random.oneOf(['Ann', 'Bea', 'Cid']),
      email: `${userId}@${accountId}.example`,
    },
    referralCode: random.onceIn(4) ? random.oneOf(WANTED_CODES) : undefined,
    referralCodes: {},
    paymentProviderId: random.onceIn(known.opensAccounts ? 3 : 6)
      ? someCustomer(random, known, accountId)
      : undefined,
    codes: someCodes(random, known, accountId),
  }),
  code: ({ random, known, userId, accountId }) => {
    const codes = random.onceIn(8)
      ? known.codes.map(({ code }) => code)
      : known.codesFor(accountId);
    return { type: 'ApplyCode', userId, code: codes.length > 0 ? random.oneOf(codes) : 'NONE' };
  },
  discount: ({ random, known, accountId }) => {
    const codes = known.codesFor(accountId);
    return {
      type: 'ApplyDiscount',
      code: codes.length > 0 ? random.oneOf(codes) : 'NONE',
      paymentProviderId: random.oneOf(known.customers),
    };
  },
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
      // What the provider is to pay is in dollars.
      currency:
        !known.opensAccounts && random.onceIn(6) ? random.oneOf(['USD', 'EUR', 'EUR']) : null,
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
  redeemAll: ({ random, known, accountId }) => {
    const unit = random.oneOf(['CENTS', 'CENTS', 'POINTS']);
    const all = known.balanceOf(accountId, unit);
    const amount = random.onceIn(3)
      ? random.oneOf([all, all, all + 1])
      : 1 + random.below(random.onceIn(3) ? 600 : 2 * known.creditMax);
    return { type: 'RedeemAccountCredit', amount: Math.max(1, amount), unit };
  },
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
    approvedBy: NO_PERSON,
    by: NO_PERSON,
  }),
  events: ({ random, userId }) => ({
    type: 'ReceiveUserEvents',
    userId,
    events: Array.from({ length: 1 + random.below(3) }, () => ({
      id: random.onceIn(3) ? random.oneOf(EVENT_IDS) : undefined,
      key: random.oneOf([PURCHASE, PURCHASE, RETURN, 'visit']),
      fields: fieldsOf(random.below(100)),
      dateTriggered: undefined,
    })),
    idempotencyKey: random.onceIn(3) ? random.oneOf(BATCHES) : undefined,
  }),
  importReward: ({ random, userId }) => {
    const redeemed = random.below(7);
    return {
      type: 'ImportReward',
      ref: random.oneOf(ROWS),
      hasId: true,
      row: { userId, redeemed },
      userId,
      value: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5, currency: null },
      name: null,
      source: 'MANUAL',
      programId: null,
      redeemed,
      cancellable: true,
      dateGiven: null,
      dateScheduledFor: null,
      dateExpires: null,
      dateCancelled: null,
    };
  },
};

/** Purchases and returns of few orders meet. */
const fieldsOf = (total: number) => ({ total, order: total % 5 });

/** Makes up the next wish. @param now epoch milliseconds. */
export function nextWish(
  random: Random,
  known: KnownWorld,
  { weights, now }: { readonly weights: WishWeights; readonly now: number },
): Wish {
  // Without people most requests are refused.
  const isEmpty = known.people.length < known.accounts.length && random.onceIn(2);
  const making = weights.sync > 0 ? (['sync', 'user'] as const) : (['user'] as const);
  const kind = isEmpty ? random.oneOf(making) : random.weighted(weights);
  if (kind === 'moderate' && known.referrals.length > 0) {
    const many = random.onceIn(8) ? 100 : 4;
    const choices = random.onceIn(3) ? known.referrals : known.referrals.slice(-NEWEST_REFERRALS);
    const some = Array.from({ length: 1 + random.below(many) }, () => random.oneOf(choices));
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

/** Mostly one who exists; any accounts and users may be made. */
function someUser(
  random: Random,
  { people, accounts, users, unreferred }: KnownWorld,
  kind: string,
): KnownUser {
  // Who has been referred is not referred again.
  if (kind === 'code' && unreferred.size > 0 && !random.onceIn(4))
    return random.oneOf([...unreferred.values()]);
  const isMade = kind === 'sync' || kind === 'user';
  if (people.length > 0 && !random.onceIn(isMade ? 2 : 16)) return random.oneOf(people);
  return { accountId: random.oneOf(accounts), userId: random.oneOf(users) };
}

/** Often the same of an account, which may be deleted and made again, or another one's. */
function someCustomer(random: Random, known: KnownWorld, accountId: string): string {
  const own = known.customers[known.accounts.indexOf(accountId)];
  return own === undefined || random.onceIn(2) ? random.oneOf(known.customers) : own;
}

function someCodes(random: Random, known: KnownWorld, accountId: string): readonly string[] {
  const codes = known.codesFor(accountId).slice(-NEWEST_CODES);
  return codes.length > 0 && random.onceIn(2) ? [random.oneOf(codes)] : [];
}

/** Mostly one of the newest, often one whose referral is moderated at the same time. */
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
