import type { CustomerSummary } from '../../src/domain/customer/customer.state.js';
import { decide, type CompleteCommand } from './support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import { personal } from '../../src/domain/personal.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  tankCode,
  userIdentified,
  paymentProviderIdSet,
  moderationPrepared,
  aboutPush,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  ANNS,
  annStands,
  aProgram,
  BOB,
  fold,
  NOW,
  noCode,
  ON_PURCHASE,
  TEN_DOLLARS,
  TEN_PERCENT,
  terms,
} from './support/account-scenario.js';
import {
  NO_PICTURE,
  PAID,
  receiveEvents,
  recordPush,
  redeemAccountCredit,
  redeemCredit,
  startPush,
  syncAccount,
  upsertUser,
  adjust,
  applyModeration,
} from './support/commands.js';

/**
 * Whether each command waits while a moderation holds a referral or reward of the account. A new
 * command does not compile without its entry.
 */
const ofReferral = { referralId: 'referral', source: 'REFERRED' } as const;
const scheduled = rewardGranted('held', BOB, credit(500), {
  ...ofReferral,
  dateScheduledFor: NOW - 2,
  dateExpires: NOW + 9,
});
const ofMade = rewardGranted('of-made', BOB, credit(300, 'POINTS'), {
  referralId: 'made',
  source: 'FRIEND_SIGNUP',
});
const byHand = rewardGranted('by-hand', BOB, credit(70, 'MILES'));
const BEFORE: readonly AccountEvent[] = [
  accountOpened(ACME),
  userIdentified(ACME, 'bob'),
  accountAttributed('ANNLEE', ANN),
  referralStarted('referral', BOB, ANN, { referredReward: TEN_PERCENT, referrerStatus: 'PENDING' }),
  scheduled,
  ofMade,
  byHand,
];
const HOLD = moderationPrepared('m', NOW - 1, 'referral', 'made');

const onEvent = aProgram({
  conversion: ON_PURCHASE,
  referredReward: terms(
    { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 5, unit: null },
    { when: 'CONVERTED' },
  ),
  eventRewards: [
    {
      rule: 'visit',
      to: 'REFERRER',
      terms: TEN_DOLLARS,
      key: 'visit',
      firstTimeOnly: false,
      minimum: null,
    },
  ],
});

const did = (key: string): CompleteCommand => {
  const content = { id: 'e', key, fields: {}, dateTriggered: NOW };
  return receiveEvents([{ userEventId: 'e', idRef: null, content }], onEvent);
};
const earned = {
  referralId: 'made',
  person: BOB.person,
  programId: 'default',
  programVersion: 1,
  earnedAt: NOW,
  provided: NOTHING_PROVIDED,
  rewardId: 'granted',
  terms: TEN_DOLLARS,
};
const part = {
  moderationId: 'm',
  side: 'referred',
  changes: [{ referralId: 'referral', referred: 'DENIED', referrer: undefined }],
  now: NOW,
} as const;
const prepare = { type: 'PrepareModeration', ...part } as const;
const apply = applyModeration('referred', part.changes);

interface Said {
  readonly what: string;
  readonly command: CompleteCommand;
  /** On top of what was before. */
  readonly given?: readonly AccountEvent[];
}
const INVOICE = { created: 1, amountPaid: 1999, currency: 'USD', interval: null };
const PAID_PICTURE = {
  ...NO_PICTURE,
  firstPaid: INVOICE,
  newestPaid: INVOICE,
  status: 'PAID',
} as const;
const applied = (picture: CustomerSummary): CompleteCommand => ({
  type: 'ApplyCustomer',
  picture,
  context: annStands(),
});

const push = startPush('paid');
const pushed = recordPush('paid', { kind: 'pushed', reference: 'cbtxn_1' });
const customer = paymentProviderIdSet(ACME, 'cus_1');
const paid = (over: Parameters<typeof rewardGranted>[3] = {}) =>
  rewardGranted('paid', BOB, credit(500), { payTo: 'provider', ...over });
const pushStarted = aboutPush('RewardPushStarted', paid(), {
  at: NOW - 3,
  amount: 500,
  body: personal(ACME.accountRef, { calls: [], done: [] }),
});

const waits = (what: string, command: CompleteCommand, ...given: readonly AccountEvent[]) => ({
  what,
  command,
  given,
  waits: true,
});
const continues = (what: string, command: CompleteCommand, ...given: readonly AccountEvent[]) => ({
  what,
  command,
  given,
  waits: false,
});

const WHILE_HELD: {
  readonly [T in CompleteCommand['type']]: readonly (Said & { readonly waits: boolean })[];
} = {
  // These concern neither a started referral nor its rewards, or repeat what is recorded.
  ApplyCode: [],
  ApplyDiscount: [],
  BlockUser: [],
  UnsubscribeFromMails: [],
  UnblockUser: [],
  CreateReward: [],
  ListRedeemedRewards: [],
  AnnounceReferral: [],
  WithdrawReferral: [],
  LapseReservation: [],
  RepeatErasure: [],
  CompleteErasure: [],
  SyncAccount: [
    waits('converts', syncAccount(PAID)),
    waits('ends', syncAccount({ status: 'CANCELLED' })),
    continues('changes the subscription', syncAccount({ status: 'FREE' })),
  ],
  ApplyCustomer: [
    waits('converts', applied(PAID_PICTURE)),
    waits('ends', applied({ ...PAID_PICTURE, firstPaid: null, status: 'CANCELLED' })),
    continues('changes the subscription', applied({ ...NO_PICTURE, status: 'TRIAL' })),
  ],
  CancelRefundedRewards: [
    waits('the referral', { type: 'CancelRefundedRewards', referralId: 'referral', now: NOW }),
    continues('another one', { type: 'CancelRefundedRewards', referralId: 'next', now: NOW }),
  ],
  UpsertUser: [
    waits(
      'converts what was paid before its program converted on PAID',
      upsertUser('cat'),
      subscriptionChanged(PAID),
    ),
    continues('adds a user', upsertUser('cat')),
  ],
  CancelReward: [
    waits('of the referral', { type: 'CancelReward', rewardId: 'held', now: NOW }),
    continues('of another reward', { type: 'CancelReward', rewardId: 'by-hand', now: NOW }),
  ],
  RedeemCredit: [
    waits('of the referral', redeemCredit('held')),
    continues('of another reward', redeemCredit('by-hand', 1, { unit: 'MILES' })),
  ],
  RedeemAccountCredit: [
    waits('of its unit', redeemAccountCredit(1, { unit: 'CENTS' })),
    waits('of the made one’s unit', redeemAccountCredit(1, { unit: 'POINTS' })),
    continues('of another unit', redeemAccountCredit(1, { unit: 'MILES' })),
  ],
  AdjustCredit: [waits('takes away', adjust(-1)), continues('adds', adjust(1))],
  ReceiveUserEvents: [
    waits('converts, before a tank code is fetched for it', did('purchase')),
    waits('earns the referrer a reward, or loses it for want of approval', did('visit')),
    continues('of which no rule makes anything', did('other')),
  ],
  GrantReferrerReward: [
    waits('of what this account made', { type: 'GrantReferrerReward', ...earned }),
    continues('that is granted already', {
      type: 'GrantReferrerReward',
      ...earned,
      rewardId: 'of-made',
    }),
  ],
  GrantEventReward: [
    waits('of what this account made', { type: 'GrantEventReward', ...earned, rule: 'visit' }),
  ],
  TakeBackReward: [
    waits('of what this account made', {
      type: 'TakeBackReward',
      ...earned,
      rule: 'visit',
      now: NOW,
    }),
  ],
  FlagReferral: [
    waits('the referral', { type: 'FlagReferral', referralId: 'referral', now: NOW }),
    continues('one that has not started', { type: 'FlagReferral', referralId: 'next', now: NOW }),
  ],
  SettleReward: [
    waits('of the referral, when due', { type: 'SettleReward', rewardId: 'held', now: NOW }),
    continues('of the referral, before', { type: 'SettleReward', rewardId: 'held', now: NOW - 3 }),
    continues(
      'of another reward',
      { type: 'SettleReward', rewardId: 'late', now: NOW },
      rewardGranted('late', BOB, tankCode('T'), { dateExpires: NOW }),
    ),
  ],
  // The moderation's own steps continue, or it would wait for itself; another one waits.
  StartRewardPush: [
    waits('begins to pay what is held', push, customer, paid(ofReferral)),
    continues('begins to pay another reward', push, customer, paid()),
  ],
  RecordRewardPush: [
    waits('has paid what is held', pushed, customer, paid(ofReferral), pushStarted),
    continues('has paid another reward', pushed, customer, paid(), pushStarted),
  ],
  PrepareModeration: [
    continues('again', prepare),
    waits('another one', { ...prepare, moderationId: 'other' }),
  ],
  ApplyModeration: [
    continues('its own', apply),
    continues('another one, which holds nothing here', { ...apply, moderationId: 'other' }),
  ],
  ReleaseModeration: [
    continues('its own', { type: 'ReleaseModeration', moderationId: 'm', now: NOW }),
  ],
  ForgetUser: [
    waits('any user', {
      type: 'ForgetUser',
      userId: 'bob',
      erasureId: 'e',
      suppressed: null,
      preserveEmptyAccount: true,
      customer: null,
      now: NOW,
    }),
  ],
  ForgetAccount: [
    waits('the account', {
      type: 'ForgetAccount',
      erasureId: 'e',
      suppressed: {},
      customer: null,
      now: NOW,
    }),
  ],
};

const cases = Object.entries(WHILE_HELD).flatMap(([type, said]) =>
  said.map((one) => ({ type, ...one })),
);

it.each(cases)(
  '$type $what waits while a moderation holds its referral',
  ({ command, given = [], waits: isToWait }) => {
    const decision = decide(fold([...BEFORE, ...given, HOLD]), command);
    if (isToWait) expect(decision).toEqual({ heldBy: 'm' });
    else expect(decision).not.toHaveProperty('heldBy');
  },
);

it.each(cases.filter((one) => one.waits && !one.type.endsWith('Moderation')))(
  'after the moderation $type $what is decided',
  ({ command, given = [] }) => {
    const released: AccountEvent = { type: 'ModerationReleased', at: NOW, moderationId: 'm' };
    const decision = decide(fold([...BEFORE, ...given, HOLD, released]), command);
    expect('needs' in decision || ('events' in decision && decision.events.length > 0)).toBe(true);
  },
);

it.each(cases.filter((one) => !one.waits && !one.type.endsWith('Moderation')))(
  '$type $what does not wait, and changes nothing that is held',
  ({ command, given = [] }) => {
    const state = fold([...BEFORE, ...given, HOLD]);
    const decision = decide(state, command);
    const touched = ('events' in decision ? decision.events : []).filter(
      (event) =>
        ('referralId' in event &&
          (event.referralId === 'referral' || event.referralId === 'made')) ||
        ('rewardId' in event && (event.rewardId === 'held' || event.rewardId === 'of-made')),
    );
    expect(touched).toEqual([]);
  },
);

it('a referral that starts in the same decision is not held', () => {
  const paid = [accountOpened(ANNS), userIdentified(ANNS, 'ann'), HOLD];
  const decision = decide(fold(paid), {
    ...syncAccount(PAID, { context: noCode() }),
  });
  expect(decision).toHaveProperty('events');
});
