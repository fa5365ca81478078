import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import {
  evolve as evolveCustomer,
  initialState as NO_CUSTOMER,
  type CustomerState,
} from '../../src/domain/customer/customer.state.js';
import type { Provided } from '../../src/domain/need.js';
import { personal } from '../../src/domain/personal.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  discount,
  refOf,
  referralConverted,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
} from '../support/account-events.js';
import { ACME, ANN, BOB, NOW, TEN_DOLLARS } from './support/account-scenario.js';
import { asked, aTenant, named, ownedByAnn, ownedByNobody } from './support/request-scenario.js';

/** What a request becomes with the time, the ids and the facts that it is decided with. */

const SUBJECT = ACME.accountRef;
const HERE = [accountOpened(ACME), userIdentified(ACME, 'bob')];
const WITH_CREDIT = [...HERE, rewardGranted('w1', BOB, credit(100))];
const CUSTOMER: AccountEvent = {
  type: 'PaymentProviderIdSet',
  at: 5,
  paymentProviderId: personal(SUBJECT, 'cus_1'),
};
const ITS_CUSTOMER = { kind: 'customer', id: 'cus_1' } as const;
const CREATED = {
  type: 'CreateReward',
  userId: 'bob',
  value: credit(100),
  name: null,
  description: null,
  cancellable: true,
  dateScheduledFor: null,
  dateExpires: null,
} as const;
const STAFF = personal('staff', 'fay');
const ADJUSTED = {
  type: 'AdjustCredit',
  userId: 'bob',
  unit: 'CENTS',
  reason: 'a mistake',
  approvedBy: STAFF,
  by: STAFF,
} as const;
const EARNED = {
  referralId: 'referral',
  person: BOB.person,
  programId: 'default',
  programVersion: 1,
  earnedAt: NOW - 5,
} as const;

const customerIs = (state: CustomerState): Partial<Provided> => ({ customers: { cus_1: state } });
const paid = (subject: string | null): CustomerState =>
  evolveCustomer(NO_CUSTOMER, {
    type: 'ProviderEventReceived',
    at: NOW - 10,
    provider: 'stripe',
    eventType: 'invoice.paid',
    eventRef: 'event',
    created: NOW - 20,
    ids: {
      subject: subject ?? 'gone',
      value: subject === null ? null : { event: 'event', invoice: null, payments: [] },
    },
    refs: null,
    fact: { kind: 'INVOICE_PAID', amountPaid: 500, currency: 'USD', interval: null },
  });

it.each<[string, readonly AccountEvent[], AccountRequest, object]>([
  [
    'a new reward',
    HERE,
    CREATED,
    { type: 'RewardGranted', at: NOW, rewardId: 'within command/reward' },
  ],
  [
    'a redemption of one reward',
    WITH_CREDIT,
    { type: 'RedeemCredit', rewardId: 'w1', amount: 5, unit: 'CENTS' },
    { type: 'CreditRedeemed', at: NOW, redemptionId: 'command/redemption', amount: 5 },
  ],
  [
    'a redemption of the account',
    WITH_CREDIT,
    { type: 'RedeemAccountCredit', amount: 5, unit: 'CENTS' },
    {
      type: 'CreditRedeemed',
      at: NOW,
      redemptionId: expect.stringMatching('^command/redemption'),
    },
  ],
  [
    'a correction that adds',
    HERE,
    { ...ADJUSTED, amount: 5 },
    { type: 'RewardGranted', at: NOW, rewardId: 'within command/adjustment' },
  ],
  [
    'a correction that takes',
    WITH_CREDIT,
    { ...ADJUSTED, amount: -5 },
    {
      type: 'CreditRedeemed',
      at: NOW,
      redemptionId: expect.stringMatching('^command/adjustment'),
    },
  ],
  [
    'the referrer’s reward',
    HERE,
    { type: 'GrantReferrerReward', ...EARNED, terms: TEN_DOLLARS },
    { type: 'RewardGranted', rewardId: 'within referral/referrer' },
  ],
  [
    'the reward of an event',
    HERE,
    {
      type: 'GrantEventReward',
      ...EARNED,
      terms: TEN_DOLLARS,
      userEventId: 'bought',
      rule: 'rule-1',
    },
    { type: 'RewardGranted', rewardId: 'reward of bought default rule-1' },
  ],
  [
    'an erasure',
    [...HERE, userIdentified(ACME, 'eve')],
    { type: 'ForgetUser', userId: 'bob', doNotTrack: false, preserveEmptyAccount: false },
    { type: 'ErasureRequested', at: NOW, erasureId: 'command/erasure', suppressed: [] },
  ],
  [
    'an erasure of the account',
    HERE,
    { type: 'ForgetAccount', doNotTrack: false },
    { type: 'ErasureRequested', at: NOW, erasureId: 'command/erasure', suppressed: [] },
  ],
])('ids follow from the command, or from what it is about %s', (_name, events, request, event) => {
  expect(asked(events, request).decision).toMatchObject({ events: [event] });
});

it.each<[readonly AccountEvent[], AccountRequest, object]>([
  [HERE, { type: 'BlockUser', userId: 'bob' }, { type: 'UserBlocked', at: NOW }],
  [
    [...HERE, { type: 'UserBlocked', at: 9, person: BOB.person }],
    { type: 'UnblockUser', userId: 'bob' },
    { type: 'UserUnblocked', at: NOW },
  ],
  [WITH_CREDIT, { type: 'CancelReward', rewardId: 'w1' }, { type: 'RewardCancelled', at: NOW }],
  [
    [...HERE, rewardGranted('w1', BOB, credit(100), { dateExpires: NOW - 1 })],
    { type: 'SettleReward', rewardId: 'w1' },
    { type: 'RewardExpired', at: NOW - 1 },
  ],
  [
    HERE,
    { type: 'UnsubscribeFromMails', person: BOB.person },
    { type: 'MailsUnsubscribed', at: NOW },
  ],
])('a request that takes nothing but the time is decided at it: %#', (events, request, event) => {
  expect(asked(events, request).decision).toMatchObject({ events: [event] });
});

it('a request that takes nothing but the time lists nothing when nothing waits to be listed', () => {
  asked(WITH_CREDIT, { type: 'ListRedeemedRewards' }).then();
});

it('a reward redeems itself when the default program says so for its type', () => {
  const tenant = aTenant({ id: 'auto', default: true, automaticRedemption: ['CREDIT'] });
  const isAutomatic = (request: AccountRequest, of = tenant) => {
    const { decision } = asked(HERE, request, { ...of, defaultProgramId: 'auto' });
    const [granted] = 'events' in decision ? decision.events : [];
    return granted?.type === 'RewardGranted' && granted.redeemsAutomatically;
  };
  expect(isAutomatic(CREATED)).toBe(true);
  expect(isAutomatic({ ...CREATED, value: discount(5) })).toBe(false);
  expect(isAutomatic(CREATED, aTenant())).toBe(false);
});

it('the customer of the payment provider is not looked up for an account that is not there, or has none', () => {
  for (const events of [[], HERE]) {
    asked(events, { type: 'ApplyCustomer' }).then();
    asked(events, START).then();
  }
});

it('the customer of the payment provider is looked up, and what it says is applied', () => {
  asked([...HERE, CUSTOMER], { type: 'ApplyCustomer' }).needs(ITS_CUSTOMER);
  expect(
    asked([...HERE, CUSTOMER], { type: 'ApplyCustomer' })
      .with(customerIs(paid('customer')))
      .types(),
  ).toStrictEqual(['SubscriptionChanged']);
});

it('the customer of the payment provider is needed for a payment, whose currency may be that of its first invoice', () => {
  const events = [...HERE, CUSTOMER, rewardGranted('w1', BOB, credit(500), { payTo: 'provider' })];
  asked(events, START).needs(ITS_CUSTOMER);
  expect(asked(events, START).with(customerIs(paid('customer'))).decision).toMatchObject({
    events: [{ type: 'RewardPushStarted', at: NOW }],
  });
});

it.each(['constructor', '__proto__'])(
  'the customer of the payment provider is needed for the customer %s as well',
  (id) => {
    const events = [
      ...HERE,
      { ...CUSTOMER, paymentProviderId: personal(BOB.person, id) },
      rewardGranted('w1', BOB, credit(500), { payTo: 'provider' }),
    ];
    asked(events, START).needs({ kind: 'customer', id });
  },
);

const START: AccountRequest = {
  type: 'StartRewardPush',
  rewardId: 'w1',
  replaces: 0,
  subscriptions: null,
  done: [],
};

const forget = (over: object = {}): AccountRequest => ({
  type: 'ForgetUser',
  userId: 'bob',
  doNotTrack: true,
  preserveEmptyAccount: false,
  ...over,
});
const LINKED = [...HERE, CUSTOMER];
const TWO = [...LINKED, userIdentified(ACME, 'eve')];

it('an erasure keeps a hash of the id that is not to be tracked', () => {
  expect(asked(HERE, forget()).decision).toMatchObject({
    events: [{ suppressed: ['ref of bob'] }],
  });
  const { decision } = asked([...HERE, userIdentified(ACME, 'eve')], {
    type: 'ForgetAccount',
    doNotTrack: true,
  });
  expect(decision).toMatchObject({
    events: [{ suppressed: ['ref of bob', 'ref of eve'] }],
  });
});

it('an erasure of the last user needs the customer whose ids are to be erased, any other does not', () => {
  asked(LINKED, forget()).needs(ITS_CUSTOMER);
  asked(LINKED, { type: 'ForgetAccount', doNotTrack: false }).needs(ITS_CUSTOMER);
  for (const events of [LINKED, TWO])
    expect(asked(events, forget({ preserveEmptyAccount: true })).types()).toContain(
      'ErasureRequested',
    );
  expect(asked(TWO, forget()).types()).toStrictEqual(['ErasureRequested']);
});

const forgetAll: AccountRequest = { type: 'ForgetAccount', doNotTrack: false };

it('an erasure is recorded once what the account has received is released', () => {
  const received = [...LINKED, subscriptionChanged({ status: 'PAID' })];
  asked(received, forgetAll)
    .with(customerIs(paid('customer')))
    .needs({ kind: 'customer-release', customer: 'cus_1', account: SUBJECT });
  const event = { type: 'CustomerReleased', at: NOW, account: SUBJECT } as const;
  const released = evolveCustomer(paid('customer'), event);
  const { decision } = asked(received, forgetAll).with(customerIs(released));
  expect(decision).toMatchObject({ events: [{ customer: 'customer' }] });
});

it('an erasure keeps the key of what the account has not received, which waits for the next one', () => {
  for (const known of [customerIs(paid('customer')), customerIs(paid(null))]) {
    const { decision } = asked(LINKED, forgetAll).with(known);
    expect(decision).not.toMatchObject({ events: [{ customer: expect.anything() }] });
  }
  const { decision } = asked(HERE, forgetAll);
  expect(decision).not.toMatchObject({ events: [{ customer: expect.anything() }] });
});

const discounted: AccountRequest = {
  type: 'ApplyDiscount',
  code: 'ANNLEE',
  paymentProviderId: 'cus_1',
};

it('a code of a discount is looked up for an account that is not referred yet', () => {
  asked(HERE, discounted).needs({ kind: 'code-owner', codes: ['ANNLEE'] });
  asked(HERE, discounted).with(ownedByNobody('ANNLEE')).refused('REFERRAL_CODE_NOT_FOUND');
  // Only the provider's id is left to be reserved.
  expect(asked([...HERE, accountAttributed('OTHER', ANN)], discounted).decision).toMatchObject({
    needs: [{ kind: 'reservation', what: { kind: 'payment-provider-id', id: 'cus_1' } }],
  });
});

it('a code that is applied by name is announced to its owner', () => {
  const apply = { type: 'ApplyCode', userId: 'bob', code: 'ANNLEE' } as const;
  asked(HERE, apply).needs({ kind: 'code-owner', codes: ['ANNLEE'] });
  // The owner is found: what is missing now is the owner's account.
  expect(asked(HERE, apply).with(ownedByAnn('ANNLEE')).decision).toMatchObject({
    needs: [{ kind: 'announcement' }],
  });
});

const cause = `${SUBJECT}/account`;
const sync: AccountRequest = {
  type: 'SyncAccount',
  accountId: 'acme',
  subscription: { status: 'TRIAL' },
  currency: undefined,
  codes: [],
};
/** The account was forgotten under these names. */
const forgotten = (...numbers: readonly number[]): AccountEvent[] =>
  numbers.flatMap((n): AccountEvent[] => [
    accountOpened(ACME, { account: `${cause}/${n}` }),
    {
      type: 'ErasureRequested',
      at: 9,
      erasureId: `erasure ${n}`,
      persons: [],
      account: `${cause}/${n}`,
      suppressed: [],
    },
    {
      type: 'ErasureCompleted',
      at: 9,
      erasureId: `erasure ${n}`,
      persons: [],
      account: `${cause}/${n}`,
    },
  ]);
const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

it.each([0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17])(
  'the name of an account that is opened again is the first one that is not forgotten, behind %i of them',
  (count) => {
    asked(forgotten(...upTo(count)), sync).needs({ kind: 'subject', cause, from: count });
  },
);

it('the name of an account that is opened again is looked for behind one that another process has used up meanwhile', () => {
  asked(forgotten(0, 1), sync)
    .with(named(cause, `${cause}/1`, 1))
    .needs({ kind: 'subject', cause, from: 2 });
  expect(
    asked(forgotten(0, 1), sync)
      .with(named(cause, `${cause}/2`, 2))
      .types(),
  ).toContain('AccountOpened');
});

it('the credit of a refunded referral is cancelled when the provider says so', () => {
  const granted = rewardGranted('w1', BOB, credit(100), {
    referralId: 'referral',
    source: 'REFERRED',
  });
  const { decision } = asked(
    [
      ...HERE,
      accountAttributed('ANNLEE', ANN),
      referralStarted('referral', BOB, ANN),
      referralConverted('referral', ANN),
      granted,
    ],
    { type: 'CancelRefundedRewards', referralId: 'referral' },
  );
  expect(decision).toMatchObject({
    events: [
      { type: 'ReferrerSideRefunded', at: NOW, referralId: 'referral' },
      { type: 'RewardCancelled', at: NOW, ...refOf(granted) },
    ],
  });
});
