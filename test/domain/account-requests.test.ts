import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { AccountCommand } from '../../src/domain/account/account.decider.js';
import {
  evolve as evolveCustomer,
  initialState as NO_CUSTOMER,
  type CustomerState,
} from '../../src/domain/customer/customer.state.js';
import type { Need, NeededReservation, Provided } from '../../src/domain/need.js';
import { personal } from '../../src/domain/personal.js';
import type { Refusal } from '../../src/domain/refusal.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import type { OpenTenant } from '../../src/domain/tenant/tenant.decider.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  discount,
  erasureCompleted,
  erasureRequested,
  refOf,
  referralCodeAssigned,
  referralConverted,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { ACME, ANN, BOB, NOW, TEN_DOLLARS } from './support/account-scenario.js';
import {
  asked,
  aTenant,
  named,
  ownedByAnn,
  ownedByNobody,
  reservedAs,
} from './support/request-scenario.js';
import { aReward, NO_CHANGES } from './support/commands.js';

type Events = readonly AccountEvent[];
type Fetched = readonly Partial<Provided>[];

const SUBJECT = ACME.accountRef;
const EMPTY = [accountOpened(ACME)];
const HERE = [...EMPTY, userIdentified(ACME, 'bob', { firstName: 'Bob', lastName: 'Ray' })];
const OWN_CODE = [...HERE, referralCodeAssigned(ACME, 'bob', 'MINE')];
const TWO = [...HERE, userIdentified(ACME, 'eve')];
const WITH_CREDIT = [...HERE, rewardGranted('w1', BOB, credit(100))];
const CUSTOMER = paymentProviderIdSet(ACME, 'cus_1');
const LINKED = [...HERE, CUSTOMER];
const TO_PAY = [...LINKED, rewardGranted('w1', BOB, credit(500), { payTo: 'provider' })];
const ATTRIBUTED = [...HERE, accountAttributed('ANNLEE', ANN)];
const REFERRED = [...ATTRIBUTED, referralStarted('referral', BOB, ANN)];
const CONVERTED = [...REFERRED, referralConverted('referral', ANN)];

const OPENING = `${SUBJECT}/account`;
const ARRIVAL = 'ref of bob/person';
const subject = (cause: string, from: number): Need => ({ kind: 'subject', cause, from });
const ownerOf = (...codes: readonly string[]): Need => ({ kind: 'code-owner', codes });
const ANNS_ACCOUNT: Need = { kind: 'referrer', party: ANN };
const ITS_CUSTOMER: Need = { kind: 'customer', id: 'cus_1' };
const reservation = (what: NeededReservation['what']): NeededReservation => ({
  kind: 'reservation',
  what,
  lapses: 0,
});
const generated = (programId: string) =>
  reservation({ kind: 'generated-code', name: 'BobRay', person: BOB.person, programId });
const code = (word: string) =>
  reservation({ kind: 'code', code: word, person: BOB.person, programId: 'default' });

const sync = (...codes: readonly string[]): AccountCommand => ({
  type: 'SyncAccount',
  accountId: 'acme',
  subscription: { status: 'TRIAL' },
  currency: undefined,
  codes,
});
type UpsertUser = Extract<AccountCommand, { type: 'UpsertUser' }>;
const upsert = (over: Partial<UpsertUser> = {}): UpsertUser => ({
  type: 'UpsertUser',
  userId: 'bob',
  ...NO_CHANGES,
  ...over,
});
const forget = (over: object = {}): AccountCommand => ({
  type: 'ForgetUser',
  userId: 'bob',
  doNotTrack: false,
  preserveEmptyAccount: false,
  ...over,
});
const FORGET_ALL: AccountCommand = { type: 'ForgetAccount', doNotTrack: false };
const APPLY: AccountCommand = { type: 'ApplyCode', userId: 'bob', code: 'ANNLEE' };
const DISCOUNTED: AccountCommand = {
  type: 'ApplyDiscount',
  code: 'ANNLEE',
  paymentProviderId: 'cus_1',
};
const FOLLOW: AccountCommand = { type: 'ApplyCustomer' };
const PAY: AccountCommand = {
  type: 'StartRewardPush',
  rewardId: 'w1',
  replaces: 0,
  subscriptions: null,
  done: [],
};
const CREATED = aReward('bob', credit(100));
const STAFF = personal('staff', 'fay');
const adjusted = (amount: number): AccountCommand => ({
  type: 'AdjustCredit',
  userId: 'bob',
  unit: 'CENTS',
  amount,
  reason: 'a mistake',
  approvedBy: STAFF,
  by: STAFF,
});
const EARNED = {
  referralId: 'referral',
  person: BOB.person,
  programId: 'default',
  programVersion: 1,
  earnedAt: NOW - 5,
  terms: TEN_DOLLARS,
} as const;
const did = (id?: string): AccountCommand => ({
  type: 'ReceiveUserEvents',
  userId: 'bob',
  events: [{ id, key: 'purchase', fields: {}, dateTriggered: undefined }],
  idempotencyKey: 'once',
});

const customerIs = (state: CustomerState): Partial<Provided> => ({ customers: { cus_1: state } });
const paid = (of: string | null): CustomerState =>
  evolveCustomer(NO_CUSTOMER, {
    type: 'ProviderEventReceived',
    at: NOW - 10,
    provider: 'stripe',
    eventType: 'invoice.paid',
    eventRef: 'event',
    created: NOW - 20,
    ids: {
      subject: of ?? 'gone',
      value: of === null ? null : { event: 'event', invoice: null, payments: [] },
    },
    refs: null,
    fact: { kind: 'INVOICE_PAID', amountPaid: 500, currency: 'USD', interval: null },
  });
const PAID = customerIs(paid('customer'));

const PARTNERS = aTenant({ ...DEFAULT_PROGRAM, id: 'partners' });
const ON_EVENT = aTenant({ ...DEFAULT_PROGRAM, conversion: { on: 'EVENT', key: 'purchase' } });

it.each<[string, Events, AccountCommand, readonly Need[], OpenTenant?]>([
  ['a name for an account that is opened', [], sync(), [subject(OPENING, 0)]],
  ['the owners of all codes in the body', EMPTY, sync('ONE', 'TWO'), [ownerOf('ONE', 'TWO')]],
  ['the referrer of an attributed account, not the code', ATTRIBUTED, sync('X'), [ANNS_ACCOUNT]],
  ['the referrer until the conversion', REFERRED, sync(), [ANNS_ACCOUNT]],
  ['the owner of a code that is applied by name', HERE, APPLY, [ownerOf('ANNLEE')]],
  ['the owner of the code of a discount', HERE, DISCOUNTED, [ownerOf('ANNLEE')]],
  ['a name for a new user', EMPTY, upsert(), [subject(ARRIVAL, 0)], PARTNERS],
  ['the referrer where a program converts on an event', REFERRED, did(), [ANNS_ACCOUNT], ON_EVENT],
  ['the customer that it follows', LINKED, FOLLOW, [ITS_CUSTOMER]],
  ['the customer whose first invoice has the currency', TO_PAY, PAY, [ITS_CUSTOMER]],
  ['the customer whose ids go with the last user', LINKED, forget(), [ITS_CUSTOMER]],
  ['the customer whose ids go with the account', LINKED, FORGET_ALL, [ITS_CUSTOMER]],
])('a request needs %s', (_what, events, request, needs, tenant = aTenant()) => {
  asked(events, request, tenant).needs(...needs);
});

it.each(['constructor', '__proto__'])('a payment needs the customer %s as well', (id) => {
  const events = [
    ...HERE,
    { ...CUSTOMER, paymentProviderId: personal(BOB.person, id) },
    rewardGranted('w1', BOB, credit(500), { payTo: 'provider' }),
  ];
  asked(events, PAY).needs({ kind: 'customer', id });
});

it('a new user needs a code for each program, and gets what was reserved', () => {
  const names = upsert({ changes: { firstName: 'Bob', lastName: 'Ray' } });
  asked(EMPTY, names, PARTNERS)
    .with(named(ARRIVAL, BOB.person))
    .needs(generated('default'), generated('partners'));
  asked(HERE, upsert({ referralCode: 'MINE' }))
    .with(reservedAs(code('MINE'), { code: 'MINE' }))
    .then(referralCodeAssigned(ACME, 'bob', 'MINE', NOW));
  // A code of its own is not reserved again.
  asked(OWN_CODE, upsert({ referralCode: 'mine' })).then(
    referralCodeAssigned(ACME, 'bob', 'mine', NOW),
  );
});

it.each<[string, Events, AccountCommand, Fetched, readonly string[]]>([
  [
    'opens the account under the name that was found',
    [],
    sync(),
    [named(OPENING, 'the-account')],
    ['AccountOpened', 'SubscriptionChanged'],
  ],
  ['needs no name for an open account', EMPTY, sync(), [], ['SubscriptionChanged']],
  [
    'attributes the account to the owner of a code',
    EMPTY,
    sync('ANNLEE'),
    [ownedByAnn('ANNLEE')],
    ['AccountAttributed', 'SubscriptionChanged'],
  ],
  [
    'ignores codes without an owner',
    EMPTY,
    sync('NONE'),
    [ownedByNobody('NONE')],
    ['SubscriptionChanged'],
  ],
  ['needs no referrer after the conversion', CONVERTED, sync('X'), [], ['SubscriptionChanged']],
  ['follows the customer', LINKED, FOLLOW, [PAID], ['SubscriptionChanged']],
  ['follows no customer of an absent account', [], FOLLOW, [], []],
  ['follows no customer where there is none', HERE, FOLLOW, [], []],
  ['pays no customer of an absent account', [], PAY, [], []],
  ['pays no customer where there is none', HERE, PAY, [], []],
  ['forgets one of two without their customer', TWO, forget(), [], ['ErasureRequested']],
  [
    'forgets the last user without the customer of the account that stays',
    LINKED,
    forget({ preserveEmptyAccount: true }),
    [],
    ['ErasureRequested'],
  ],
  ['lists nothing when nothing waits', WITH_CREDIT, { type: 'ListRedeemedRewards' }, [], []],
])('a request %s', (_what, events, request, fetched, types) => {
  expect(
    asked(events, request)
      .with(...fetched)
      .types(),
  ).toStrictEqual(types);
});

it.each<[string, Events, AccountCommand, object]>([
  ['CreateReward', HERE, CREATED, { at: NOW, rewardId: 'within command/reward' }],
  [
    'RedeemCredit',
    WITH_CREDIT,
    { type: 'RedeemCredit', rewardId: 'w1', amount: 5, unit: 'CENTS' },
    { at: NOW, redemptionId: 'command/redemption', amount: 5 },
  ],
  [
    'RedeemAccountCredit',
    WITH_CREDIT,
    { type: 'RedeemAccountCredit', amount: 5, unit: 'CENTS' },
    { at: NOW, redemptionId: expect.stringMatching('^command/redemption') },
  ],
  ['a correction that adds', HERE, adjusted(5), { rewardId: 'within command/adjustment' }],
  [
    'a correction that takes',
    WITH_CREDIT,
    adjusted(-5),
    { at: NOW, redemptionId: expect.stringMatching('^command/adjustment') },
  ],
  [
    'GrantReferrerReward',
    HERE,
    { type: 'GrantReferrerReward', ...EARNED },
    { type: 'RewardGranted', rewardId: 'within referral/referrer' },
  ],
  [
    'GrantEventReward',
    HERE,
    { type: 'GrantEventReward', ...EARNED, userEventId: 'bought', rule: 'rule-1' },
    { type: 'RewardGranted', rewardId: 'reward of bought default rule-1' },
  ],
  ['ForgetUser', TWO, forget(), { at: NOW, erasureId: 'command/erasure', suppressed: [] }],
  ['ForgetAccount', HERE, FORGET_ALL, { at: NOW, erasureId: 'command/erasure', suppressed: [] }],
  ['BlockUser', HERE, { type: 'BlockUser', userId: 'bob' }, { type: 'UserBlocked', at: NOW }],
  [
    'UnblockUser',
    [...HERE, { type: 'UserBlocked', at: 9, person: BOB.person }],
    { type: 'UnblockUser', userId: 'bob' },
    { type: 'UserUnblocked', at: NOW },
  ],
  [
    'CancelReward',
    WITH_CREDIT,
    { type: 'CancelReward', rewardId: 'w1' },
    { type: 'RewardCancelled', at: NOW },
  ],
  [
    'SettleReward',
    [...HERE, rewardGranted('w1', BOB, credit(100), { dateExpires: NOW - 1 })],
    { type: 'SettleReward', rewardId: 'w1' },
    { type: 'RewardExpired', at: NOW - 1 },
  ],
  [
    'UnsubscribeFromMails',
    HERE,
    { type: 'UnsubscribeFromMails', person: BOB.person },
    { type: 'MailsUnsubscribed', at: NOW },
  ],
  ['ReceiveUserEvents', REFERRED, did('o-1'), { at: NOW, idRef: 'event of bob o-1' }],
])('the time and the ids of %s follow from the command', (_type, events, request, event) => {
  expect(asked(events, request).decision).toMatchObject({ events: [event] });
});

it('events without an id have the id of the command', () => {
  const id = 'command/event 0';
  asked(REFERRED, did()).then({
    type: 'UserEventReceived',
    at: NOW,
    userEventId: id,
    person: BOB.person,
    batch: 'batch of bob once',
    content: personal(BOB.person, { id, key: 'purchase', fields: {}, dateTriggered: NOW }),
  });
});

it('a payment starts once the customer is known', () => {
  expect(asked(TO_PAY, PAY).with(PAID).decision).toMatchObject({
    events: [{ type: 'RewardPushStarted', at: NOW }],
  });
});

it('the credit of a refunded referral is cancelled when the provider reports it', () => {
  const ofReferral = { referralId: 'referral', source: 'REFERRED' } as const;
  const granted = rewardGranted('w1', BOB, credit(100), ofReferral);
  const request = { type: 'CancelRefundedRewards', referralId: 'referral' } as const;
  expect(asked([...CONVERTED, granted], request).decision).toMatchObject({
    events: [
      { type: 'ReferrerSideRefunded', at: NOW, referralId: 'referral' },
      { type: 'RewardCancelled', at: NOW, ...refOf(granted) },
    ],
  });
});

it('a reward redeems automatically when the default program enables it for its type', () => {
  const tenant = aTenant({ id: 'auto', default: true, automaticRedemption: ['CREDIT'] });
  const isAutomatic = (request: AccountCommand, of = tenant) => {
    const { decision } = asked(HERE, request, { ...of, defaultProgramId: 'auto' });
    const [granted] = 'events' in decision ? decision.events : [];
    return granted?.type === 'RewardGranted' && granted.redeemsAutomatically;
  };
  expect(isAutomatic(CREATED)).toBe(true);
  expect(isAutomatic({ ...CREATED, value: discount(5) })).toBe(false);
  expect(isAutomatic(CREATED, aTenant())).toBe(false);
});

it('an erasure keeps hashes of the ids that are not to be tracked', () => {
  expect(asked(HERE, forget({ doNotTrack: true })).decision).toMatchObject({
    events: [{ suppressed: ['ref of bob'] }],
  });
  expect(asked(TWO, { type: 'ForgetAccount', doNotTrack: true }).decision).toMatchObject({
    events: [{ suppressed: ['ref of bob', 'ref of eve'] }],
  });
});

it('an erasure is recorded once what the account has received is released', () => {
  const received = [...LINKED, subscriptionChanged({ status: 'PAID' })];
  asked(received, FORGET_ALL)
    .with(PAID)
    .needs({ kind: 'customer-release', customer: 'cus_1', account: SUBJECT });
  const event = { type: 'CustomerReleased', at: NOW, account: SUBJECT } as const;
  const released = customerIs(evolveCustomer(paid('customer'), event));
  expect(asked(received, FORGET_ALL).with(released).decision).toMatchObject({
    events: [{ customer: 'customer' }],
  });
});

it('an erasure keeps the key of what the account has not received, which waits for the next one', () => {
  const named = { events: [{ customer: expect.anything() as unknown }] };
  for (const known of [PAID, customerIs(paid(null))])
    expect(asked(LINKED, FORGET_ALL).with(known).decision).not.toMatchObject(named);
  expect(asked(HERE, FORGET_ALL).decision).not.toMatchObject(named);
});

it('a named code that is applied is announced to its owner', () => {
  expect(asked(HERE, APPLY).with(ownedByAnn('ANNLEE')).decision).toMatchObject({
    needs: [{ kind: 'announcement' }],
  });
});

it('a discount of a referred account reserves the id of the provider alone', () => {
  const what = { kind: 'payment-provider-id', id: 'cus_1' };
  expect(asked(ATTRIBUTED, DISCOUNTED).decision).toMatchObject({
    needs: [{ kind: 'reservation', what }],
  });
});

/** The account was forgotten under these names. */
const forgottenUnder = (...numbers: readonly number[]): AccountEvent[] =>
  numbers.flatMap((n) => {
    const over = { erasureId: `erasure ${n}`, account: `${OPENING}/${n}` };
    return [
      accountOpened(ACME, { account: over.account }),
      erasureRequested([], over),
      erasureCompleted([], over),
    ];
  });

it.each([0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17])(
  'an account that is opened again gets the first name that is not forgotten, after %i of them',
  (count) => {
    const events = forgottenUnder(...Array.from({ length: count }, (_, n) => n));
    asked(events, sync()).needs(subject(OPENING, count));
  },
);

it('an account that is opened again looks for another name when a process has used it meanwhile', () => {
  const again = asked(forgottenUnder(0, 1), sync());
  again.with(named(OPENING, `${OPENING}/1`, 1)).needs(subject(OPENING, 2));
  expect(again.with(named(OPENING, `${OPENING}/2`, 2)).types()).toContain('AccountOpened');
});

it.each<[string, Events, AccountCommand, Fetched, Refusal, string?]>([
  ['an unknown code', HERE, APPLY, [ownedByNobody('ANNLEE')], 'REFERRAL_CODE_NOT_FOUND'],
  [
    'a discount of an unknown code',
    HERE,
    DISCOUNTED,
    [ownedByNobody('ANNLEE')],
    'REFERRAL_CODE_NOT_FOUND',
  ],
  ['a code for an unknown user', EMPTY, APPLY, [ownedByAnn('ANNLEE')], 'USER_NOT_FOUND'],
  [
    "another user's code",
    HERE,
    upsert({ referralCode: 'TAKEN' }),
    [reservedAs(code('TAKEN'), { refused: 'RESERVED_BY_ANOTHER' })],
    'REFERRAL_CODE_TAKEN',
  ],
  [
    'a code of another program',
    HERE,
    upsert({ referralCode: 'TAKEN' }),
    [reservedAs(code('TAKEN'), { refused: 'CODE_PROGRAM_CONFLICT' })],
    'CODE_PROGRAM_CONFLICT',
    'referralCodes.default is a code of the user in another program: choose another code',
  ],
  ['a user that is not new', HERE, upsert({ mustBeNew: true }), [], 'USER_EXISTS'],
  [
    'an unknown program',
    HERE,
    upsert({ referralCodes: { unheard: 'MINE' } }),
    [],
    'PROGRAM_UNKNOWN',
    'referralCodes.unheard names a program that the tenant does not have: leave it out',
  ],
  [
    'two codes for one program',
    HERE,
    upsert({ referralCode: 'A', referralCodes: { default: 'B' } }),
    [],
    'CODE_PROGRAM_CONFLICT',
    'referralCode and referralCodes name two codes for the default program: send one of them',
  ],
  ['an absent account', [], upsert({ referralCode: 'MINE' }), [], 'ACCOUNT_NOT_FOUND'],
])('a request is refused for %s', (_why, events, request, fetched, refusal, ...details) => {
  asked(events, request)
    .with(...fetched)
    .refused(refusal, ...details.filter((detail) => detail !== undefined));
});

it('a user is refused a code of its own in another program', () => {
  asked(OWN_CODE, upsert({ referralCodes: { partners: 'MINE' } }), PARTNERS).refused(
    'CODE_PROGRAM_CONFLICT',
    'referralCodes.partners is a code of the user in another program: choose another code',
  );
});

it('a user is refused a payment provider id that another account has', () => {
  const { decision } = asked(OWN_CODE, upsert({ paymentProviderId: 'cus_1' }));
  const [need] = 'needs' in decision ? decision.needs : [];
  expect(need).toMatchObject({ what: { kind: 'payment-provider-id', id: 'cus_1' } });
  if (!need) return;
  asked(OWN_CODE, upsert({ paymentProviderId: 'cus_1' }))
    .with(reservedAs(need, { refused: 'RESERVED_BY_ANOTHER' }))
    .refused('PAYMENT_PROVIDER_ID_USED');
});

it('a user writes what the token grants, and nothing else', () => {
  const notGranted = [
    'FIELD_NOT_GRANTED',
    'The token does not allow the values in the body of firstName, referralCodes.vip: leave it out, or send a token with these values',
  ] as const;
  // Before the codes, which depend on the tenant's programs.
  const request = {
    changes: { firstName: 'Rob' },
    referralCodes: { vip: 'X' },
    granted: NO_CHANGES,
  };
  for (const state of [[], EMPTY, HERE]) {
    asked(state, upsert(request)).refused(...notGranted);
    asked(state, { ...upsert(request), type: 'CheckUserFields' }).refused(...notGranted);
  }
  const stored = upsert({ changes: { firstName: 'Bob' }, granted: NO_CHANGES });
  asked(HERE, { ...stored, type: 'CheckUserFields' }).then();
});

it('a user who was forgotten and comes back gets another name, unless it is not to be tracked', () => {
  const after = (doNotTrack: boolean) => {
    const { decision } = asked(HERE, forget({ doNotTrack, preserveEmptyAccount: true }));
    return [...HERE, ...('events' in decision ? decision.events : [])];
  };
  asked(after(true), upsert()).refused('DO_NOT_TRACK');
  asked(after(false), upsert()).with(named(ARRIVAL, BOB.person)).needs(subject(ARRIVAL, 1));
});
