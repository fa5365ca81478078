import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import type { ImportReferral } from '../../src/domain/account/imports/import-referral.js';
import type { ImportReward } from '../../src/domain/account/imports/import-reward.js';
import type { ImportUser } from '../../src/domain/account/imports/import-user.js';
import {
  evolve as ofCustomer,
  initialState as noCustomer,
  type CustomerSummary,
  type ProviderEventReceived,
} from '../../src/domain/customer/customer.state.js';
import { USERS_MAX } from '../../src/domain/account/users/identify-user.js';
import { codesKey, type NeededReservation, type Provided } from '../../src/domain/need.js';
import { personal } from '../../src/domain/personal.js';
import type { Refusal } from '../../src/domain/refusal.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  discount,
  erasureRequested,
  moderationPrepared,
  paymentProviderIdSet,
  personOf,
  rewardGranted,
  subscriptionChanged,
  tankCode,
  userIdentified,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  ANNS,
  annStands,
  BOB,
  fold,
  given,
  NOW,
  opened,
  HERE,
} from './support/account-scenario.js';
import { NO_PICTURE, PAID, syncAccount, TRIAL, applyModeration } from './support/commands.js';
import { asked, aTenant, named, ownedByAnn, reservedAs } from './support/request-scenario.js';

const CREATED = NOW - 1_000_000;
const SUBJECT = ACME.accountRef;
const EMPTY = [accountOpened(ACME)];

const user = (over: Partial<ImportUser> = {}): ImportUser => ({
  type: 'ImportUser',
  ref: 'row',
  row: { accountId: 'acme', id: 'bob' },
  accountId: 'acme',
  userId: 'bob',
  changes: {},
  referralCode: undefined,
  paymentProviderId: undefined,
  dateCreated: CREATED,
  blocked: false,
  status: undefined,
  currency: undefined,
  ...over,
});
const generated: NeededReservation = {
  kind: 'reservation',
  what: { kind: 'generated-code', name: '', person: BOB.person, programId: 'default' },
  lapses: 0,
};
const BOBS = [
  named(`${SUBJECT}/account`, SUBJECT),
  named('ref of bob/person', BOB.person),
  reservedAs(generated, { code: 'BOB7' }),
];
const importBob = (over: Partial<ImportUser> = {}, events: readonly AccountEvent[] = []) =>
  asked(events, user(over)).with(...BOBS);
const ofRow = (row: ImportUser['row'] = user().row) => ({
  ref: 'row',
  row: personal(BOB.person, row),
  at: NOW,
});
const BOB_IN: AccountEvent[] = [
  ...EMPTY,
  { ...(userIdentified(ACME, 'bob') as AccountEventOf<'UserIdentified'>), imported: ofRow() },
];

test('a user takes effect at the dates of the row; the status and the block take effect now', () =>
  importBob({ blocked: true, status: 'PAID', currency: 'EUR' }).then(
    accountOpened(ACME, { at: CREATED, currency: 'EUR' }),
    { ...subscriptionChanged({ status: 'PAID' }, NOW), imported: true } as AccountEvent,
    {
      ...(userIdentified(
        ACME,
        'bob',
        { email: null },
        CREATED,
      ) as AccountEventOf<'UserIdentified'>),
      imported: ofRow(),
    },
    {
      type: 'ReferralCodeAssigned',
      at: CREATED,
      person: BOB.person,
      code: personal(BOB.person, 'BOB7'),
      programId: 'default',
      imported: true,
    },
    { type: 'UserBlocked', at: NOW, person: BOB.person },
  ));

test('the first row that gives a value of the account sets it', () => {
  const events = [...importBob().events()];
  expect(opened(fold(events))).toMatchObject({ subscription: null, currencyIsDefault: true });
  const row = user({ ref: 'other', userId: 'eve', status: 'PAID', currency: 'EUR' });
  const eve = named('ref of eve/person', personOf(ACME, 'eve'));
  const what = { ...generated.what, person: personOf(ACME, 'eve') } as NeededReservation['what'];
  const code = reservedAs({ ...generated, what }, { code: 'EVE' });
  expect(asked(events, row).with(eve, code).types()).toEqual([
    'SubscriptionChanged',
    'CurrencyChanged',
    'UserIdentified',
    'ReferralCodeAssigned',
  ]);
});

test.each<[string, Partial<ImportUser>, readonly AccountEvent[], Refusal]>([
  ['who is there, and was not imported', {}, HERE, 'USER_EXISTS'],
  [
    'with another status than the account has',
    { userId: 'eve', status: 'PAID' },
    [...HERE, subscriptionChanged({ status: 'TRIAL' })],
    'ROW_INVALID',
  ],
  ['with another currency', { userId: 'eve', currency: 'EUR' }, HERE, 'ROW_INVALID'],
  [
    'with another customer',
    { userId: 'eve', paymentProviderId: 'cus_2' },
    [...HERE, paymentProviderIdSet(ACME, 'cus_1')],
    'PAYMENT_PROVIDER_ID_SET',
  ],
  ['with a date to come', { row: { dateCreated: NOW + 1 } }, EMPTY, 'ROW_INVALID'],
  [
    'who asked not to be tracked',
    {},
    [...EMPTY, erasureRequested([BOB.person], { suppressed: ['ref of bob'] })],
    'DO_NOT_TRACK',
  ],
  [
    'beyond the thousandth',
    {},
    [
      ...EMPTY,
      ...Array.from({ length: USERS_MAX }, (_, index) => userIdentified(ACME, `u${index}`)),
    ],
    'TOO_MANY_USERS',
  ],
])('a user %s is refused', (_who, over, events, refusal) => {
  const { decision } = importBob(over, events);
  expect(decision).toMatchObject({ refused: refusal });
});

test('a row that was imported before changes nothing, whatever the present rules are', () =>
  importBob({ status: 'PAID' }, [...BOB_IN, subscriptionChanged({ status: 'TRIAL' })]).then());

test('a row that was imported before is refused with each difference when its values differ', () =>
  importBob({ row: { accountId: 'acme', id: 'bob', dateCreated: CREATED } }, BOB_IN).refused(
    'ROW_DIFFERS',
    `dateCreated: "", now "${new Date(CREATED).toISOString()}"`,
  ));

test.each([
  ['the case of a code', { referralCode: 'Bob' }, { referralCode: 'BOB' }],
  ['the order of segments', { segments: ['a', 'b'] }, { segments: ['b', 'a'] }],
])('a row that was imported before is the same in another spelling: %s', (_what, before, now) => {
  const identified = userIdentified(ACME, 'bob') as AccountEventOf<'UserIdentified'>;
  importBob({ row: now }, [...EMPTY, { ...identified, imported: ofRow(before) }]).then();
});

test('a row that was imported before changes nothing after its person was forgotten', () =>
  importBob({ row: { accountId: 'acme', id: 'other' } }, [
    ...BOB_IN,
    erasureRequested([BOB.person]),
  ]).then());

const referral = (over: Partial<ImportReferral> = {}): ImportReferral => ({
  type: 'ImportReferral',
  ref: 'row',
  hasId: false,
  row: { referredAccount: 'acme' },
  referrerRow: { referrerAccount: 'anns' },
  userId: 'bob',
  referrer: { account: ANNS.accountRef, userId: 'ann' },
  noAccount: 'no account',
  programId: undefined,
  code: undefined,
  dateStarted: CREATED,
  datePaid: undefined,
  dateEnded: undefined,
  referredStatus: 'APPROVED',
  referrerStatus: 'APPROVED',
  rewards: { referred: undefined, referrer: undefined },
  ...over,
});
const ANNS_KEY = codesKey([ANNS.accountRef, 'ann']);
const annFound = (over: object = {}): Partial<Provided> => ({
  importedReferrers: {
    [ANNS_KEY]: {
      party: ANN,
      referredBy: null,
      formerReferrals: [],
      primaryCodes: { default: 'ANNLEE' },
      ...over,
    },
  },
});
const imports = (over: Partial<ImportReferral> = {}, events: readonly AccountEvent[] = HERE) =>
  asked(events, referral(over)).with(annFound());
const eventOf = <T extends AccountEvent['type']>(events: readonly AccountEvent[], type: T) =>
  events.find((event) => event.type === type) as AccountEventOf<T>;

test('a referral has the dates and the statuses of the row, and the primary code of its referrer', () => {
  const events = imports({
    datePaid: CREATED + 1,
    dateEnded: CREATED + 2,
    referrerStatus: 'DENIED',
  }).events();
  expect(events.map(({ type, at }) => [type, at])).toEqual([
    ['AccountAttributed', CREATED],
    ['ReferralStarted', CREATED],
    ['ReferralConverted', CREATED + 1],
    ['ReferralEnded', CREATED + 2],
  ]);
  expect(eventOf(events, 'ReferralStarted')).toMatchObject({
    code: personal(ANN.person, 'ANNLEE'),
    referrerStatus: 'DENIED',
    referredReward: null,
  });
});

test('an approved side earns nothing by the import; one that is not approved may earn yet', () => {
  const started = (over: Partial<ImportReferral>) =>
    eventOf(imports(over).events(), 'ReferralStarted');
  expect(started({}).referredReward).toBeNull();
  expect(started({ referredStatus: 'PENDING' }).referredReward).toMatchObject({
    value: discount(10),
  });
  const rewards = { referred: { ref: 'r', rewardId: 'w' }, referrer: undefined };
  const needed = asked(HERE, referral({ referredStatus: 'PENDING', rewards })).with(annFound(), {
    namedRewards: { r: null },
  });
  expect(eventOf(needed.events(), 'ReferralStarted')).toMatchObject({
    referredReward: null,
    imported: { rewards: { referred: 'w', referrer: null } },
  });
});

test('a referral without a referrer names no person, and its account stays referred', () => {
  const events = asked(HERE, referral({ referrer: undefined, code: 'GONE' })).events();
  expect(eventOf(events, 'ReferralStarted')).toMatchObject({
    code: { value: null },
    referrer: { account: 'no account', ids: { value: null } },
    imported: { referrerRow: null },
  });
  expect(opened(fold([...HERE, ...events])).attribution).not.toBeNull();
});

test.each<[string, Partial<ImportReferral>, readonly AccountEvent[], Partial<Provided>, Refusal]>([
  ['of an unknown user', { userId: 'eve' }, HERE, annFound(), 'USER_NOT_FOUND'],
  ['by an unknown user', {}, HERE, { importedReferrers: { [ANNS_KEY]: null } }, 'USER_NOT_FOUND'],
  [
    'of an account that is referred',
    {},
    [...HERE, accountAttributed('ANNLEE', ANN)],
    annFound(),
    'ALREADY_REFERRED',
  ],
  [
    'within an account',
    { referrer: { account: SUBJECT, userId: 'eve' } },
    HERE,
    {},
    'SELF_REFERRAL',
  ],
  [
    'by an account that this one referred',
    {},
    HERE,
    annFound({ referredBy: BOB }),
    'SELF_REFERRAL',
  ],
  ['of a program that there is not', { programId: 'other' }, HERE, annFound(), 'PROGRAM_UNKNOWN'],
  [
    'with the code of another user',
    { code: 'ANNLEE' },
    HERE,
    {
      ...annFound({ party: { ...ANN, person: 'another' } }),
      ...ownedByAnn('ANNLEE'),
    },
    'REFERRAL_CODE_TAKEN',
  ],
])('a referral %s is refused', (_which, over, events, provided, refusal) =>
  expect(asked(events, referral(over)).with(provided).decision).toMatchObject({
    refused: refusal,
  }),
);

test.each<[string, object, Partial<ImportReferral>]>([
  ['another user', { persons: ['eve'] }, {}],
  ['another referral', { referralId: 'other' }, {}],
  ['a side that is pending', {}, { referredStatus: 'PENDING' }],
])('a referral that names an imported reward of %s is refused', (_whose, over, row) => {
  const rewards = { referred: { ref: 'r', rewardId: 'w' }, referrer: undefined };
  const placed = { account: SUBJECT, persons: [BOB.person], referralId: null };
  const names = (placedReward: typeof placed) =>
    asked(HERE, referral({ rewards, ...row })).with(annFound(), {
      namedRewards: { r: placedReward },
    });
  expect(names({ ...placed, ...over }).decision).toMatchObject({ refused: 'ROW_INVALID' });
});

const PAID_IN: AccountEvent = {
  ...(subscriptionChanged({ status: 'PAID' }) as AccountEventOf<'SubscriptionChanged'>),
  imported: true,
};
const importedInto = (events: readonly AccountEvent[], over: Partial<ImportReferral> = {}) => [
  ...events,
  ...imports(over, events).events(),
];
const paysNow = (events: readonly AccountEvent[]) =>
  given(events)
    .when(syncAccount(PAID, { context: annStands() }))
    .types();

test('a referral without a payment converts with the next PAID, not with one before the import', () => {
  for (const paid of [PAID_IN, subscriptionChanged(PAID)]) {
    const events = importedInto([...HERE, paid]);
    expect(
      given(events)
        .when(syncAccount(TRIAL, { context: annStands() }))
        .types(),
    ).not.toContain('ReferralConverted');
    expect(paysNow(events)).toEqual(['SubscriptionChanged', 'ReferralConverted']);
  }
});

test('a referral without a payment converts with an invoice that its customer pays after the import', () => {
  const invoice = (created: number): ProviderEventReceived => ({
    type: 'ProviderEventReceived',
    at: NOW,
    provider: 'stripe',
    eventType: 'any',
    eventRef: String(created),
    created,
    ids: personal('customer', { event: 'e', invoice: null, payments: [] }),
    refs: { invoice: null, subscription: null, left: [] },
    fact: { kind: 'INVOICE_PAID', amountPaid: 100, currency: 'USD', interval: null },
  });
  const customer = [invoice(5)].reduce(ofCustomer, noCustomer);
  const linked = [...HERE, paymentProviderIdSet(ACME, 'cus_1', NOW)];
  const applied = (events: readonly AccountEvent[], picture: Partial<CustomerSummary>) =>
    given(events)
      .when({
        type: 'ApplyCustomer',
        picture: { ...NO_PICTURE, ...picture },
        context: annStands(),
      })
      .types();
  const paid = (created: number) => {
    const newestPaid = { created, amountPaid: 100, currency: 'USD', interval: null };
    return { firstPaid: newestPaid, newestPaid };
  };
  const converted = 'ReferralConverted';
  for (const has of [true, false]) {
    const before = has ? [...linked, subscriptionChanged(PAID)] : linked;
    const events = asked(before, referral()).with(annFound(), { customers: { cus_1: customer } });
    const after = [...before, ...events.events()];
    for (const status of ['PAID', 'CANCELLED'] as const)
      expect([applied(after, { ...paid(5), status })].flat()).toEqual(
        has ? expect.not.arrayContaining([converted]) : expect.arrayContaining([converted]),
      );
    expect(applied(after, { ...paid(6), status: 'PAID' })).toContain('ReferralConverted');
  }
});

test('a side that came with its reward earns none at the conversion', () => {
  const rewards = {
    referred: undefined,
    referrer: { ref: 'r', rewardId: 'w' },
  };
  const before = asked(HERE, referral({ rewards })).with(annFound(), {
    namedRewards: { r: null },
  });
  const events = [...HERE, ...before.events()];
  const { decision } = given(events).when(syncAccount(PAID, { context: annStands() }));
  expect(decision).toMatchObject({
    events: [{}, { type: 'ReferralConverted', referrerReward: null }],
  });
});

test.each<[string, Partial<ImportReferral>, readonly string[]]>([
  ['pending', { referredStatus: 'PENDING' }, ['ReferralModerated', 'RewardGranted']],
  ['approved', {}, ['ReferralModerated']],
])(
  'a side that came as %s earns by its approval, as long as it came without a reward',
  (_how, over, types) => {
    const { referralId } = eventOf(imports(over).events(), 'ReferralStarted');
    expect(
      given(importedInto(HERE, over), moderationPrepared('m', NOW, referralId))
        .when(
          applyModeration('referred', [{ referralId, referred: 'APPROVED', referrer: undefined }], {
            rewardIds: { [referralId]: 'reward' },
          }),
        )
        .types(),
    ).toEqual(types);
  },
);

test('an account that came as PAID cannot be attributed later', () =>
  expect(opened(fold([...HERE, PAID_IN]))).toMatchObject({ everPaid: true, hasPaid: false }));

const reward = (over: Partial<ImportReward> = {}): ImportReward => ({
  type: 'ImportReward',
  ref: 'row',
  hasId: false,
  row: { accountId: 'acme' },
  userId: 'bob',
  value: credit(100),
  name: null,
  source: 'MANUAL',
  programId: null,
  redeemed: 0,
  cancellable: true,
  dateGiven: CREATED,
  dateScheduledFor: null,
  dateExpires: null,
  dateCancelled: null,
  ...over,
});
const rewards = (over: Partial<ImportReward> = {}, events: readonly AccountEvent[] = HERE) =>
  asked(events, reward(over));
const sided = (...overs: readonly object[]): Partial<Provided> => {
  const side = { referralId: 'referral', side: 'referred', status: 'APPROVED' } as const;
  const of = { ...side, account: SUBJECT, person: BOB.person };
  const sides = overs.map((over) => ({ ...of, ...over }));
  return { importedRows: { row: { account: SUBJECT, entry: null, sides, lapses: 0 } } };
};

test.each<[string, Partial<ImportReward>, object]>([
  ['is available', {}, { phase: 'AVAILABLE' }],
  ['is scheduled', { dateScheduledFor: NOW + 1 }, { phase: 'PENDING' }],
  ['keeps a date that has passed', { dateScheduledFor: NOW }, { phase: 'AVAILABLE' }],
  ['has expired', { dateExpires: NOW }, { phase: 'EXPIRED' }],
  ['is cancelled', { dateCancelled: NOW }, { phase: 'AVAILABLE', dateCancelled: NOW }],
  ['is redeemed in part', { redeemed: 40 }, { redeemed: 40 }],
])('a reward %s by its dates and figures', (_how, over, imported) => {
  const [granted] = rewards(over).events();
  expect(granted).toMatchObject({
    at: CREATED,
    rule: null,
    redeemsAutomatically: false,
    imported,
  });
  const state = opened(fold([...HERE, ...rewards(over).events()]));
  expect(state.rewards.first()).toMatchObject(imported);
  expect(state.grantedByRule.isEmpty()).toBe(true);
});

test('a reward belongs to the side that names it', () => {
  const [granted] = rewards({ hasId: true }).with(sided({})).events();
  expect(granted).toMatchObject({ referralId: 'referral', imported: { side: 'referred' } });
});

test('a reward that came in before its referral gets it, once, and is cancelled with its side', () => {
  const here = [...HERE, ...rewards().events()];
  const link = (referralId: string, events = here, person = BOB.person) =>
    asked(events, {
      type: 'LinkImportedReward',
      rewardId: 'within import/row',
      referralId,
      side: 'referred',
      person,
    });
  const linked = { rewardId: 'within import/row', referralId: 'r1', side: 'referred' } as const;
  link('r1').then({ type: 'ImportedRewardLinked', at: NOW, ...linked });
  const events = [...here, ...link('r1').events()];
  const { rewards: all, rewardsByReferral } = opened(fold(events));
  expect(all.first()).toMatchObject({ referralId: 'r1' });
  expect(rewardsByReferral.get('r1')?.toArray()).toEqual(['within import/row']);
  for (const other of [link('r2', events), link('r1', here, 'eve'), link('r1', HERE)]) other.then();
});

test('a reward takes its tank code out of the pools', () => {
  const { fuelTankCode: given, ...value } = tankCode('T1') as Extract<
    ImportReward['value'],
    { type: 'FUELTANK' }
  >;
  const none = { programId: '', programVersion: 0, rule: '' };
  rewards({ value: tankCode('T1') }).needs({
    kind: 'tank-code',
    rewardId: 'within import/row',
    ...none,
    value,
    lapses: 0,
    given,
  });
});

test.each<[string, Partial<ImportReward>, Partial<Provided>, Refusal]>([
  ['of an unknown user', { userId: 'eve' }, {}, 'USER_NOT_FOUND'],
  ['of a program that there is not', { programId: 'other' }, {}, 'PROGRAM_UNKNOWN'],
  ['redeemed beyond its amount', { redeemed: 101 }, {}, 'ROW_INVALID'],
  ['redeemed and cancelled', { redeemed: 1, dateCancelled: 1 }, {}, 'REWARD_NOT_CANCELLABLE'],
  ['redeemed before its date', { redeemed: 1, dateScheduledFor: NOW + 1 }, {}, 'ROW_INVALID'],
  [
    'that ends before it begins',
    { dateScheduledFor: 2, dateExpires: 1 },
    {},
    'REWARD_DATES_INVALID',
  ],
  ['too large', { value: credit(Number.MAX_SAFE_INTEGER) }, {}, 'AMOUNT_TOO_LARGE'],
  ['in another currency', { value: credit(1, 'CENTS', 'EUR') }, {}, 'CURRENCY_DIFFERS'],
  ['of a pending side', { hasId: true }, sided({ status: 'PENDING' }), 'ROW_INVALID'],
  ["of another user's side", { hasId: true }, sided({ person: 'eve' }), 'ROW_INVALID'],
  ['that two sides name', { hasId: true }, sided({}, {}), 'ROW_INVALID'],
  [
    'with the tank code of another reward',
    { value: tankCode('T1') },
    { tankCodes: { 'within import/row': { code: null, lapses: 0 } } },
    'ROW_INVALID',
  ],
  [
    'for which another tank code is still reserved',
    { value: tankCode('T1') },
    { tankCodes: { 'within import/row': { code: 'T0', lapses: 0 } } },
    'ROW_INVALID',
  ],
])('a reward %s is refused', (_which, over, provided, refusal) => {
  const history = [...HERE, rewardGranted('w', BOB, credit(5, 'cents', 'USD'))];
  expect(asked(history, reward(over)).with(provided).decision).toMatchObject({
    refused: refusal,
  });
});

test('a reward with an id that another account imported is compared with that row', () => {
  const entry = {
    persons: ['x'],
    row: { accountId: 'other' },
    at: 1,
    ledgerId: null,
    credit: null,
  };
  rewards({ hasId: true })
    .with({ importedRows: { row: { account: 'another', entry, sides: [], lapses: 0 } } })
    .refused('ROW_DIFFERS', 'accountId: "other", now "acme"');
});

test('the referral of an imported row is that of its named program', () => {
  const tenant = aTenant({ ...DEFAULT_PROGRAM, id: 'other' });
  const { decision } = asked(HERE, referral({ programId: 'other' }), tenant).with(annFound());
  expect(decision).toMatchObject({ events: [{ programId: 'other' }, { programId: 'other' }] });
});
