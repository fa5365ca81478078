import type { CompleteCommand } from './support/decisions.js';
import type {
  AccountEvent,
  AccountEventOf,
  ProviderCall,
} from '../../src/domain/account/account.events.js';
import {
  duePushes,
  type PushOutcome,
  type StartRewardPush,
} from '../../src/domain/account/provider/reward-push.js';
import type { PaidInvoice } from '../../src/domain/customer/customer.state.js';
import { personal, type Personal } from '../../src/domain/personal.js';
import {
  credit,
  creditRedeemed,
  discount,
  erasureRequested,
  forgotten,
  refOf,
  rewardCancelled,
  rewardGranted,
  paymentProviderIdSet,
  moderationPrepared,
  aboutPush,
} from '../support/account-events.js';
import { ACME, BOB, fold, given, NOW, HERE } from './support/account-scenario.js';
import { recordPush, redeemAccountCredit, redeemCredit, startPush } from './support/commands.js';

const SUBJECT = ACME.accountRef;
const customer = paymentProviderIdSet(ACME, 'cus_1');
const reward = (
  value: Parameters<typeof rewardGranted>[2],
  over: Partial<AccountEventOf<'RewardGranted'>> = {},
) => rewardGranted('r', BOB, value, { at: NOW - 8, payTo: 'provider', ...over });
const EUROS = { ...credit(500), currency: 'EUR' } as const;
const CREDIT = reward(EUROS);
const TEN_OFF = reward(discount(10), { source: 'REFERRED', referralId: 'referral' });
const LINKED = [...HERE, customer];
const INVOICE: PaidInvoice = { created: 1, amountPaid: 1999, currency: 'USD', interval: null };

const start = (over: Partial<StartRewardPush> = {}) => startPush('r', over);
const record = (outcome: PushOutcome, push = 1) => recordPush('r', outcome, push);
const AGAIN = start({ replaces: 1 });
const PAID: PushOutcome = { kind: 'pushed', reference: 'cbtxn_1' };
const REFUSED: PushOutcome = { kind: 'refused', reason: 'the provider answered 404', done: [] };

const balanceCredit = (amount: number, currency: string, key = 'reward:r'): ProviderCall => ({
  kind: 'BALANCE_CREDIT',
  key,
  customer: 'cus_1',
  amount,
  currency,
});
const tenOff = (subscription: string, over: object = {}): ProviderCall => ({
  kind: 'DISCOUNT',
  key: `reward:r:${subscription}`,
  subscription,
  percent: 10,
  months: null,
  keeps: [],
  ...over,
});

const started = (
  granted: AccountEventOf<'RewardGranted'>,
  calls: readonly ProviderCall[],
  over: Partial<AccountEventOf<'RewardPushStarted'>> & { readonly done?: readonly string[] } = {},
): AccountEvent => {
  const { done = [], ...rest } = over;
  const amount = granted.value.type === 'CREDIT' ? granted.value.assignedCredit : 0;
  const body = personal(SUBJECT, { calls, done });
  return aboutPush('RewardPushStarted', granted, { at: NOW, amount, body, ...rest });
};
const pushed = (
  granted: AccountEventOf<'RewardGranted'>,
  reference: Personal<string> = personal(SUBJECT, 'cbtxn_1'),
) => aboutPush('RewardPushed', granted, { at: NOW, reference });
const redeemed = (over: Partial<AccountEventOf<'CreditRedeemed'>> = {}): AccountEvent => ({
  type: 'CreditRedeemed',
  at: NOW,
  ...refOf(CREDIT),
  redemptionId: 'r-provider',
  amount: 500,
  externalReference: personal(SUBJECT, 'cbtxn_1'),
  ...over,
});
const refused = (granted = CREDIT, done: readonly string[] = [], push = 1) =>
  aboutPush('RewardPushRefused', granted, {
    at: NOW,
    push,
    reason: 'the provider answered 404',
    done: personal(SUBJECT, done),
  });
const STARTED = started(CREDIT, [balanceCredit(500, 'EUR')], { at: NOW - 5 });

it('credit is recorded with its call before it is paid', () => {
  given(LINKED, CREDIT)
    .when(start())
    .then(started(CREDIT, [balanceCredit(500, 'EUR')]));
});

it('credit is redeemed in the append that records its payment', () => {
  given(LINKED, CREDIT, STARTED).when(record(PAID)).then(pushed(CREDIT), redeemed());
});

it('credit is paid as far as it is not redeemed', () => {
  given(LINKED, CREDIT, redeemed({ redemptionId: 'x', amount: 200 }))
    .when(start())
    .then(started(CREDIT, [balanceCredit(300, 'EUR')], { amount: 300 }));
});

it.each([
  ['that stays in the ledger', [...LINKED, rewardGranted('r', BOB, EUROS)]],
  ['of an account without a customer', [...HERE, CREDIT]],
  ['that is cancelled', [...LINKED, CREDIT, rewardCancelled(CREDIT, 500, NOW - 7, 'REQUEST')]],
  ['of a forgotten person', [...LINKED, CREDIT, erasureRequested([BOB.person])]],
  ['that is on its way already', [...LINKED, CREDIT, STARTED]],
  ['that was paid', [...LINKED, CREDIT, STARTED, pushed(CREDIT), redeemed()]],
])('credit %s is not paid', (_, events) => {
  given(events).when(start()).then();
});

it('credit is not paid before its date, nor after it expired', () => {
  const later = reward(EUROS, { dateScheduledFor: NOW + 1 });
  given(LINKED, later).when(start()).then();
  const over = reward(EUROS, { dateExpires: NOW });
  given(LINKED, over)
    .when(start())
    .then({ type: 'RewardExpired', at: NOW, ...refOf(over), amount: 500 });
});

function cannotBeRedeemed(when: ReturnType<typeof given>['when']): void {
  when(redeemCredit('r')).refused(
    'REDEMPTION_NOT_POSSIBLE',
    'The payment provider is paying the reward: redeem another one',
  );
  when(redeemAccountCredit()).refused(
    'REDEMPTION_NOT_POSSIBLE',
    'The amount 1 exceeds the available credit 0 CENTS',
  );
}

it('credit cannot be redeemed while its call is under way', () => {
  const { when } = given(LINKED, CREDIT, STARTED);
  cannotBeRedeemed(when);
});

it('credit that expires on its way is redeemed when its call was recorded', () => {
  const short = reward(EUROS, { dateExpires: NOW - 1 });
  const { when } = given(LINKED, short, STARTED);
  when({ type: 'SettleReward', rewardId: 'r', now: NOW }).then();
  when(record(PAID)).then(pushed(short), redeemed({ at: NOW - 5 }));
});

it('credit that expires on its way and is refused, expires', () => {
  const short = reward(EUROS, { dateExpires: NOW - 1 });
  given(LINKED, short, STARTED)
    .when(record(REFUSED))
    .then(refused(short), { type: 'RewardExpired', at: NOW - 1, ...refOf(short), amount: 500 });
});

it('credit of an account that was deleted on the way is redeemed, without the ids', () => {
  const { when } = given(
    LINKED,
    CREDIT,
    STARTED,
    erasureRequested([BOB.person], { account: SUBJECT }),
  );
  when(record(PAID)).then(
    pushed(CREDIT, forgotten(SUBJECT)),
    redeemed({ at: NOW - 5, externalReference: forgotten(SUBJECT) }),
  );
  when(record(PAID, 2)).then();
});

it('credit has one outcome', () => {
  given(LINKED, CREDIT, STARTED, pushed(CREDIT), redeemed()).when(record(PAID)).then();
  given(LINKED, CREDIT, STARTED, refused()).when(record(REFUSED)).then();
});

const events = [...LINKED, CREDIT, STARTED, refused()];

it('a refused reward is parked, and its credit can be redeemed again', () => {
  given(LINKED, CREDIT, STARTED).when(record(REFUSED)).then(refused());
  given(events)
    .when(redeemCredit('r', 500))
    .then(creditRedeemed(CREDIT, 'r', 500, NOW));
});

it('a refused reward is tried again under another key', () => {
  given(events)
    .when(AGAIN)
    .then(started(CREDIT, [balanceCredit(500, 'EUR', 'reward:r:2')], { push: 2 }));
});

it('a refused reward that may be paid is held until the provider confirms it', () => {
  const unsure = { ...refused(), mayBePaid: true } as const;
  const short = reward(EUROS, { dateExpires: NOW - 1 });
  given(LINKED, short, STARTED)
    .when(record({ ...REFUSED, mayBePaid: true }))
    .then({ ...refused(short), mayBePaid: true });
  const { when } = given(LINKED, CREDIT, STARTED, unsure);
  cannotBeRedeemed(when);
  when(record({ ...REFUSED, mayBePaid: true })).then();
  when(record(REFUSED)).then(refused());
  when(record(PAID)).then(pushed(CREDIT), redeemed());
});

it('a discount waits for a subscription', () => {
  given(LINKED, TEN_OFF).when(start()).then();
  given(LINKED, TEN_OFF)
    .when(start({ subscriptions: [] }))
    .then();
});

it('a discount is added to each subscription, next to the discounts that it has', () => {
  given(LINKED, TEN_OFF)
    .when(
      start({
        subscriptions: [
          { id: 'sub_1', discounts: ['di_1'] },
          { id: 'sub_2', discounts: [] },
        ],
      }),
    )
    .then(started(TEN_OFF, [tenOff('sub_1', { keeps: ['di_1'] }), tenOff('sub_2')]));
});

it('a discount is not added twice to a subscription by another start', () => {
  const calls = [tenOff('sub_1'), tenOff('sub_2')];
  given(LINKED, TEN_OFF, started(TEN_OFF, calls), refused(TEN_OFF, ['sub_1']))
    .when(
      start({
        replaces: 1,
        firstPaid: INVOICE,
        subscriptions: [
          { id: 'sub_1', discounts: ['di_1'] },
          { id: 'sub_2', discounts: [] },
        ],
      }),
    )
    .then(
      started(TEN_OFF, [tenOff('sub_2', { key: 'reward:r:sub_2:2' })], {
        push: 2,
        done: ['sub_1'],
      }),
    );
});

it('a discount is not added twice, however often the other subscription refuses', () => {
  const both = [tenOff('sub_1'), tenOff('sub_2')];
  const second = { push: 2, done: ['sub_1'] };
  given(
    LINKED,
    TEN_OFF,
    started(TEN_OFF, both),
    refused(TEN_OFF, ['sub_1']),
    started(TEN_OFF, [tenOff('sub_2', { key: 'reward:r:sub_2:2' })], second),
    refused(TEN_OFF, [], 2),
  )
    .when(
      start({
        replaces: 2,
        firstPaid: INVOICE,
        subscriptions: ['sub_1', 'sub_2'].map((id) => ({ id, discounts: [] })),
      }),
    )
    .then(started(TEN_OFF, [tenOff('sub_2', { key: 'reward:r:sub_2:3' })], { ...second, push: 3 }));
});

it('a discount is paid when one subscription has it and the other ended, with the id of the former', () => {
  const both = [tenOff('sub_1'), tenOff('sub_2')];
  const di = personal(SUBJECT, 'di_1');
  given(LINKED, TEN_OFF, started(TEN_OFF, both))
    .when(record({ ...REFUSED, done: ['sub_1'], reference: 'di_1' }))
    .then({ ...refused(TEN_OFF, ['sub_1']), reference: di });
  const { when } = given(LINKED, TEN_OFF, started(TEN_OFF, both), {
    ...refused(TEN_OFF, ['sub_1']),
    reference: di,
  });
  when(start({ replaces: 1, subscriptions: [] })).then(pushed(TEN_OFF, di));
  // Found, after the answer was lost.
  given(LINKED, TEN_OFF, started(TEN_OFF, both), refused(TEN_OFF))
    .when(start({ replaces: 1, done: ['sub_1'], reference: 'di_1', subscriptions: [] }))
    .then(pushed(TEN_OFF, di));
});

it('a discount that missed the first paid invoice is paid as what it would have taken off', () => {
  given(LINKED, TEN_OFF)
    .when(start({ firstPaid: INVOICE, subscriptions: [] }))
    .then(started(TEN_OFF, [balanceCredit(199, 'USD')]));
});

it('a discount becomes no credit before its subscriptions were looked for', () => {
  const { when } = given(LINKED, TEN_OFF);
  when(start({ firstPaid: INVOICE })).then();
  const of = { firstPaid: INVOICE, subscriptions: [{ id: 'sub_1', discounts: ['di_1'] }] };
  const reference = 'di_1';
  const paid = { ...pushed(TEN_OFF, personal(SUBJECT, reference)), push: 0 };
  when(start({ ...of, done: ['sub_1'], reference })).then(paid);
  when(start({ ...of, isPaid: true, reference })).then(paid);
});

it('a discount that would have taken off nothing needs no call', () => {
  given(LINKED, TEN_OFF)
    .when(start({ firstPaid: { ...INVOICE, amountPaid: 9 }, subscriptions: [] }))
    .then({ ...pushed(TEN_OFF, forgotten(SUBJECT)), push: 0 });
});

it('a discount of a referrer is for the invoices to come, whatever was paid before', () => {
  const ofReferrer = reward(discount(10), { source: 'FRIEND_SIGNUP' });
  given(LINKED, ofReferrer)
    .when(start({ firstPaid: INVOICE, subscriptions: [{ id: 'sub_1', discounts: [] }] }))
    .then(started(ofReferrer, [tenOff('sub_1')]));
});

it('a discount that was paid is not added to a later subscription', () => {
  given(LINKED, TEN_OFF, started(TEN_OFF, [tenOff('sub_1')]), pushed(TEN_OFF))
    .when(start({ replaces: 1, subscriptions: [{ id: 'sub_2', discounts: [] }] }))
    .then();
});

it('a discount has no redemption', () => {
  given(LINKED, TEN_OFF, started(TEN_OFF, [tenOff('sub_1')]))
    .when(record(PAID))
    .then(pushed(TEN_OFF));
});

const forgottenSince = [...LINKED, CREDIT, STARTED, erasureRequested([BOB.person])];
const reason = 'its owner was deleted';

it('a push of a forgotten owner that was looked for ends when its call had no effect, and is due no more', () => {
  const ended = { ...refused(), reason };
  given(forgottenSince).when(AGAIN).then(ended);
  const state = fold([...forgottenSince, ended]);
  expect(duePushes(state, { now: NOW, retriesParked: true }).rewards).toEqual([]);
  given(forgottenSince, { ...refused(), mayBePaid: true })
    .when(AGAIN)
    .then(ended);
  given(forgottenSince, ended).when(AGAIN).then();
});

it('a push of a forgotten owner that was looked for is paid where one of its subscriptions has the discount', () => {
  const begun = started(TEN_OFF, [tenOff('sub_1'), tenOff('sub_2')]);
  given(LINKED, TEN_OFF, begun, erasureRequested([BOB.person]))
    .when(start({ replaces: 1, done: ['sub_1'], reference: 'di_1' }))
    .then(pushed(TEN_OFF, personal(SUBJECT, 'di_1')));
});

const cancel: CompleteCommand = { type: 'CancelReward', rewardId: 'r', now: NOW };

it('cancelling is possible until the account has a customer', () => {
  given(HERE, CREDIT)
    .when(cancel)
    .then(rewardCancelled(CREDIT, 500, NOW, 'REQUEST'));
  given(LINKED, CREDIT)
    .when(cancel)
    .refused(
      'REWARD_NOT_CANCELLABLE',
      'The reward cannot be cancelled: the payment provider pays it',
    );
});

it.each([false, true])('cancelling by a moderation likewise: with a customer %s', (isLinked) => {
  const granted = reward(EUROS, { referralId: 'made', source: 'FRIEND_SIGNUP' });
  const outcome = given(isLinked ? LINKED : HERE, granted).when({
    type: 'PrepareModeration',
    moderationId: 'm',
    side: 'referrer',
    changes: [{ referralId: 'made', referred: undefined, referrer: 'DENIED' }],
    now: NOW,
  });
  if (isLinked)
    outcome.refused(
      'MODERATION_NOT_POSSIBLE',
      "made: the referrer side's reward is not cancellable",
    );
  else outcome.then(moderationPrepared('m', NOW, 'made'));
});

const of = { referralId: 'made', source: 'FRIEND_SIGNUP' } as const;
const granted = reward(EUROS, of);
const off = reward(discount(10), of);
const begun = started(granted, [balanceCredit(500, 'EUR')], { at: NOW - 5 });
const offBegun = started(off, [tenOff('sub_1'), tenOff('sub_2')], { at: NOW - 5 });
const side: AccountEvent = { type: 'ReferrerSideRefunded', at: NOW, referralId: 'made' };
const cancelled = rewardCancelled(granted, 500, NOW, 'REQUEST');
const refund: CompleteCommand = { type: 'CancelRefundedRewards', referralId: 'made', now: NOW };
const unsure = { ...refused(granted), mayBePaid: true } as const;

it.each([
  ['waits', granted, []],
  ['is parked', granted, [begun, refused(granted)]],
  ['is a parked discount', off, [offBegun, refused(off)]],
])(
  'a refund of the first invoice cancels immediately what %s, which is not pushed any more',
  (_, given_, events) => {
    const history = [...LINKED, given_, ...events];
    const ended = rewardCancelled(given_, given_ === granted ? 500 : 0, NOW, 'REQUEST');
    given(history).when(refund).then(side, ended);
    const { state, when } = given(history, side, ended);
    when(refund).then();
    for (const replaces of [0, 1]) when(start({ replaces })).then();
    expect(duePushes(state, { now: NOW, retriesParked: true }).rewards).toEqual([]);
  },
);

it.each([
  ['is under way', granted, [begun]],
  ['may be paid', granted, [begun, unsure]],
  ['was paid', granted, [begun, pushed(granted), redeemed()]],
  ['is redeemed in part', granted, [creditRedeemed(granted, 'x', 1, NOW - 1)]],
  ['one subscription has', off, [offBegun, refused(off, ['sub_1'])]],
  [
    'one subscription has, on the way to another',
    off,
    [
      offBegun,
      refused(off, ['sub_1']),
      started(off, [tenOff('sub_2')], { push: 2, done: ['sub_1'] }),
    ],
  ],
])('a refund of the first invoice leaves for now what %s', (_, given_, events) => {
  given(LINKED, given_, events).when(refund).then(side);
});

it.each([
  ['made by others', [side]],
  [
    'of the own referral',
    [{ type: 'ReferralRefunded', at: NOW, referralId: 'made', referrer: BOB }],
  ],
] as const)(
  'a refund of the first invoice %s: what was under way is cancelled where it is refused, and redeemed where it is paid',
  (_, refunds) => {
    const { when } = given(LINKED, granted, begun, refunds);
    when(record(REFUSED)).then(refused(granted), cancelled);
    when(record(PAID)).then(pushed(granted), redeemed());
    when(record({ ...REFUSED, mayBePaid: true })).then(unsure);
    when(redeemCredit('r')).refused(
      'REDEMPTION_NOT_POSSIBLE',
      'The payment provider is paying the reward: redeem another one',
    );
  },
);

it.each([
  ['that the provider failed to make', [begun]],
  ['that may have been made', [begun, unsure]],
])(
  'a refund of the first invoice has a call %s given up, instead of another start',
  (_, events) => {
    const reason = 'the first invoice was refunded';
    given(LINKED, granted, events, side)
      .when(AGAIN)
      .then({ ...refused(granted), reason }, cancelled);
  },
);

it('a refund of the first invoice leaves the discount that a subscription turns out to have', () => {
  given(LINKED, off, offBegun, side)
    .when(start({ replaces: 1, done: ['sub_1'], reference: 'di_1', subscriptions: [] }))
    .then(pushed(off, personal(SUBJECT, 'di_1')));
});

it('a refund of the first invoice cancels what expired on its way, once it is refused', () => {
  const short = reward(EUROS, { ...of, dateExpires: NOW - 1 });
  given(LINKED, short, started(short, [balanceCredit(500, 'EUR')]), side)
    .when(record(REFUSED))
    .then(
      refused(short),
      { type: 'RewardExpired', at: NOW - 1, ...refOf(short), amount: 500 },
      rewardCancelled(short, 500, NOW, 'REQUEST'),
    );
});

it('a refund of the first invoice is undone for a reward that the provider turns out to have', () => {
  const { when } = given(LINKED, granted, begun, refused(granted), side, cancelled);
  when(record({ ...REFUSED, reason: 'another one' })).then();
  when(record(PAID)).then(
    { type: 'RewardRestored', at: NOW, ...refOf(granted), amount: 500 },
    pushed(granted),
    redeemed(),
  );
});
