import type { CompleteCommand } from './decisions.js';
import type { Subscription } from '../../../src/domain/account/account.events.js';
import type { PushOutcome } from '../../../src/domain/account/provider/reward-push.js';
import type { CreateReward } from '../../../src/domain/account/rewards/rewards.js';
import { NOTHING_PROVIDED } from '../../../src/domain/need.js';
import { personal } from '../../../src/domain/personal.js';
import type { CustomerSummary } from '../../../src/domain/customer/customer.state.js';
import type { Program, RewardValue } from '../../../src/domain/program.js';
import { credit, personOf } from '../../support/account-events.js';
import { ACME, annStands, NOW } from './account-scenario.js';

type Of<T extends CompleteCommand['type']> = Extract<CompleteCommand, { readonly type: T }>;
type Over<T extends CompleteCommand['type']> = Partial<Of<T>>;

export const TRIAL: Subscription = { status: 'TRIAL' };
export const PAID: Subscription = {
  status: 'PAID',
  value: 9,
  billingIntervalType: 'MONTH',
  billingIntervalValue: 1,
};

/** What a user may be given besides an id. */
export const NO_CHANGES = {
  changes: {},
  referralCode: undefined,
  referralCodes: {},
  paymentProviderId: undefined,
  codes: [],
};

export const syncAccount = (
  subscription: Subscription,
  over: Over<'SyncAccount'> = {},
): Of<'SyncAccount'> => ({
  type: 'SyncAccount',
  accountId: 'acme',
  newAccount: ACME.accountRef,
  subscription,
  currency: undefined,
  context: annStands(),
  ...over,
});

export const upsertUser = (userId: string, over: Over<'UpsertUser'> = {}): Of<'UpsertUser'> => ({
  type: 'UpsertUser',
  userId,
  newPerson: personOf(ACME, userId),
  changes: {},
  codes: [],
  paymentProviderId: undefined,
  context: annStands(),
  ...over,
});

export const aReward = (userId: string, value: RewardValue) =>
  ({
    type: 'CreateReward',
    userId,
    value,
    name: null,
    description: null,
    cancellable: true,
    dateScheduledFor: null,
    dateExpires: null,
  }) as const;

export const createReward = (over: Partial<CreateReward> = {}): CreateReward => ({
  ...aReward('bob', credit(500)),
  rewardId: 'reward',
  redeemsAutomatically: false,
  now: NOW,
  ...over,
});

/** Bob did something: the events, each with an id of its own. */
export const receiveEvents = (
  events: Of<'ReceiveUserEvents'>['events'],
  program: Program | null,
  over: Over<'ReceiveUserEvents'> = {},
): Of<'ReceiveUserEvents'> => ({
  type: 'ReceiveUserEvents',
  userId: 'bob',
  batch: null,
  programs: program ? [program] : [],
  context: annStands({ program }),
  events,
  rewardIdOf: (userEventId, _, name) => `${userEventId} ${name}`,
  valueRef: (person, value) => `${person} ${JSON.stringify(value)}`,
  ...over,
});

export const startPush = (
  rewardId: string,
  over: Over<'StartRewardPush'> = {},
): Of<'StartRewardPush'> => ({
  type: 'StartRewardPush',
  rewardId,
  replaces: 0,
  subscriptions: null,
  done: [],
  firstPaid: null,
  now: NOW,
  ...over,
});

export const recordPush = (
  rewardId: string,
  outcome: PushOutcome,
  push = 1,
): Of<'RecordRewardPush'> => ({ type: 'RecordRewardPush', rewardId, push, outcome, now: NOW });

export const adjust = (amount: number, over: Over<'AdjustCredit'> = {}): Of<'AdjustCredit'> => ({
  type: 'AdjustCredit',
  userId: 'bob',
  unit: 'CENTS',
  amount,
  reason: 'charged twice',
  approvedBy: personal('ada', 'Ada'),
  by: personal('sam', 'Sam'),
  rewardId: 'adjusted',
  redemptionId: 'adjusted',
  now: NOW,
  ...over,
});

export const applyModeration = (
  side: Of<'ApplyModeration'>['side'],
  changes: Of<'ApplyModeration'>['changes'],
  over: Over<'ApplyModeration'> = {},
): Of<'ApplyModeration'> => ({
  type: 'ApplyModeration',
  moderationId: 'm',
  side,
  changes,
  rewardIds: {},
  provided: NOTHING_PROVIDED,
  now: NOW,
  ...over,
});

const REDEMPTION = { unit: 'CENTS', redemptionId: 'r', now: NOW } as const;

export const redeemCredit = (
  rewardId: string,
  amount = 1,
  over: Over<'RedeemCredit'> = {},
): Of<'RedeemCredit'> => ({ type: 'RedeemCredit', rewardId, amount, ...REDEMPTION, ...over });

export const redeemAccountCredit = (
  amount = 1,
  over: Over<'RedeemAccountCredit'> = {},
): Of<'RedeemAccountCredit'> => ({
  type: 'RedeemAccountCredit',
  amount,
  ...REDEMPTION,
  ...over,
});

export const NO_PICTURE: CustomerSummary = {
  firstPaid: null,
  newestPaid: null,
  status: null,
  refundedAt: null,
  isGone: false,
};
