import type { CompleteCommand } from './decisions.js';
import type { Subscription } from '../../../src/domain/account/account.events.js';
import type { PushOutcome } from '../../../src/domain/account/provider/reward-push.js';
import type { CreateReward } from '../../../src/domain/account/rewards/rewards.js';
import type { CustomerPicture } from '../../../src/domain/customer/customer.state.js';
import type { Program } from '../../../src/domain/program.js';
import { credit, personOf } from '../../support/account-events.js';
import { ACME, annStands, NOW } from './account-scenario.js';

/** Builders of an account's commands: a test states the members it is about. */

type Of<T extends CompleteCommand['type']> = Extract<CompleteCommand, { readonly type: T }>;
type Over<T extends CompleteCommand['type']> = Partial<Of<T>>;

export const TRIAL: Subscription = { status: 'TRIAL' };
export const PAID: Subscription = {
  status: 'PAID',
  value: 9,
  billingIntervalType: 'MONTH',
  billingIntervalValue: 1,
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

export const createReward = (over: Partial<CreateReward> = {}): CreateReward => ({
  type: 'CreateReward',
  userId: 'bob',
  rewardId: 'reward',
  value: credit(500),
  name: null,
  description: null,
  cancellable: true,
  dateScheduledFor: null,
  dateExpires: null,
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

/** The provider has said nothing of the customer. */
export const NO_PICTURE: CustomerPicture = {
  firstPaid: null,
  newestPaid: null,
  status: null,
  refundedAt: null,
  isGone: false,
};
