import { ApiError, type ErrorJson } from '../../src/http/edge/api-error.js';
import { parseCreateReward, rewardValueOf } from '../../src/http/rewards/create-reward.request.js';
import { DiscountRequest } from '../../src/http/discounts/discount.request.js';
import { ModerateReferralsRequest } from '../../src/http/referrals/moderate-referrals.request.js';
import { BulkRedeemRequest, RedeemRequest } from '../../src/http/rewards/redeem.request.js';
import {
  subscriptionOf,
  SyncAccountRequest,
} from '../../src/http/accounts/sync-account.request.js';
import { UserEventsRequest } from '../../src/http/user-events/user-events.request.js';
import {
  referrerCodes,
  IdentifiedUserRequest,
  UserRequest,
} from '../../src/http/users/user.request.js';
import { parseRequest } from '../../src/http/shapes/validation.js';
import { BAD_IDS } from '../support/bad-values.js';

/** The `validationErrors` of a refused body, and the numeric code if there is one. */
function refusal(parse: () => unknown): readonly (string | null)[] {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const body: ErrorJson = error.body;
    expect(body.apiErrorCode).toBe('BAD_REQUEST');
    return [
      ...(body.validationErrors ?? []).map((line) => line.split(' ')[0] ?? ''),
      ...(body.rsCode === null ? [] : [body.rsCode]),
    ];
  }
  throw new Error('was not refused');
}

test.each([[null], ['text'], [1], [true], [[]], [[{ id: 'a' }]]])('%j is no object', (body) => {
  expect(refusal(() => parseRequest(UserRequest, body))).toEqual(['the']);
  expect(refusal(() => parseCreateReward(body))).toEqual(['the']);
});

test('unknown members are ignored', () => {
  expect(
    parseRequest(UserRequest, {
      cookieId: 'c',
      dateCreated: 1,
      constructor: 1,
      toString: 'x',
      hasOwnProperty: null,
    }),
  ).toEqual({});
});

test('a missing required member is named', () => {
  const linesOf = (body: unknown) => {
    try {
      return parseRequest(SyncAccountRequest, body);
    } catch (error) {
      return error instanceof ApiError && [error.body.validationErrors, error.body.rsCode];
    }
  };
  expect(linesOf({})).toEqual([['id is required', 'subscription is required'], 'RS022']);
  expect(linesOf({ id: ' ', subscription: {} })).toEqual([
    ['subscription.status is required'],
    'RS022',
  ]);
});

test('a request shape has exactly the members of the body', () => {
  expect(
    Reflect.ownKeys(
      parseRequest(UserRequest, { email: '', lastName: 'Lee', referredBy: { code: 'ANN' } }),
    ),
  ).toEqual(['lastName', 'referredBy']);
  expect(
    Reflect.ownKeys(
      parseRequest(UserRequest, { referredBy: { isConverted: undefined } }).referredBy ?? {},
    ),
  ).toEqual([]);
  const { events } = parseRequest(UserEventsRequest, {
    userId: 'u',
    accountId: 'a',
    events: [{ key: 'k' }],
  });
  expect(events.map((event) => Reflect.ownKeys(event))).toEqual([['key', 'fields']]);
});

const parseAccount = (body: unknown) => parseRequest(SyncAccountRequest, body);

test('accountsync needs an id and a subscription, and keeps members with a value', () => {
  const parsed = parseAccount({
    id: 7,
    subscription: { status: 'TRIAL', value: null, billingIntervalType: '', extra: 1 },
    referral: null,
    currency: '',
  });
  expect(parsed).toMatchObject({ id: '7', referral: null });
  expect(parsed.currency).toBeUndefined();
  expect(subscriptionOf(parsed.subscription)).toEqual({ status: 'TRIAL' });
  const billing = { value: 9.99, billingIntervalType: 'MONTH', billingIntervalValue: 1 };
  const subscription = { status: 'PAID', ...billing };
  const whole = parseAccount({ id: 'a', subscription, currency: 'EUR', referral: { code: 123 } });
  expect(subscriptionOf(whole.subscription)).toEqual(subscription);
  expect([whole.currency, whole.referral?.code]).toEqual(['EUR', '123']);
});

test('accountsync ignores a malformed code', () => {
  for (const code of ['', 'no spaces', 'x'.repeat(16), null, 'é'])
    expect(
      parseAccount({ id: 'a', subscription: { status: 'FREE' }, referral: { code } }).referral
        ?.code,
    ).toBeUndefined();
});

const good = { id: 'a', subscription: { status: 'FREE' } };
const paid = (more: object) => ({ ...good, subscription: { status: 'PAID', ...more } });
const BILLING = ['value', 'billingIntervalType', 'billingIntervalValue'].map(
  (member) => `subscription.${member}`,
);
test.each<[object, readonly string[]]>([
  [{}, ['id', 'subscription', 'RS022']],
  [{ ...good, id: '' }, ['id']],
  [{ ...good, subscription: { status: 'paid' } }, ['subscription.status', 'RS022']],
  [{ ...good, subscription: {} }, ['subscription.status', 'RS022']],
  [{ ...good, subscription: { status: 1 } }, ['subscription.status', 'RS022']],
  [paid({}), BILLING],
  [paid({ value: -1, billingIntervalType: 'NEVER', billingIntervalValue: 0 }), BILLING],
  [
    paid({ value: '5', billingIntervalType: 'DAY', billingIntervalValue: 1.5 }),
    ['subscription.value', 'subscription.billingIntervalValue'],
  ],
  [{ ...good, subscription: { status: 'FREE', value: Infinity } }, ['subscription.value']],
  [{ ...good, currency: 'usd' }, ['currency']],
  [{ ...good, currency: 'XXQ' }, ['currency']],
  [{ ...good, referral: { code: {} } }, ['referral.code']],
])('accountsync %j', (body, expected) => {
  expect(refusal(() => parseAccount(body))).toEqual(expected);
});

test.each([['x'], [[]], [1]])(
  'accountsync is refused when its subscription or its referral is %j',
  (value) => {
    expect(refusal(() => parseAccount({ id: 'a', subscription: value }))).toContain('RS022');
    expect(refusal(() => parseAccount({ ...good, referral: value }))).toContain('referral');
  },
);

const parseUser = (body: unknown) => parseRequest(UserRequest, body);

test('a user distinguishes omitted, cleared and set members', () => {
  expect(
    parseUser({
      email: '',
      firstName: null,
      lastName: 'L',
      locale: '',
      imageUrl: null,
      countryCode: null,
      referable: null,
    }),
  ).toEqual({
    firstName: null,
    lastName: 'L',
    imageUrl: null,
    countryCode: null,
    referable: null,
  });
});

test('a user has no white space around an address, a name or a segment', () => {
  const segments = [' vip ', ' ', '~ new', '~vip '];
  expect(
    parseUser({ email: ' a@b.co\n', firstName: '\u2003Ann ', lastName: '  ', segments }),
  ).toEqual({
    email: 'a@b.co',
    firstName: 'Ann',
    segments: ['vip', '~new', '~vip'],
  });
});

test('a user accepts all members together', () => {
  const body = {
    id: 'u',
    accountId: 5,
    email: 'Ann@Example.co.uk',
    firstName: 'Ann',
    lastName: 'Lee',
    imageUrl: 'https://example.com/a.png',
    locale: 'en_US',
    countryCode: 'US',
    referable: false,
    customFields: { a: 'x', b_1: 1.5, toString: true, constructor: null },
    segments: ['vip', '~old', '~*', 7],
    referralCode: 12345,
    referralCodes: { default: 'ANN1', 'other-program': 7, empty: '', none: null },
    referredBy: { code: 'BOB', isConverted: 'whatever' },
    referredByCodes: ['CID', 'not a code', 8, null],
    paymentProviderId: 'pp_1',
  };
  const parsed = parseUser(body);
  expect(parsed).toEqual({
    ...body,
    accountId: '5',
    segments: ['vip', '~old', '~*', '7'],
    referralCode: '12345',
    referralCodes: { default: 'ANN1', 'other-program': '7' },
    referredByCodes: ['CID', '8'],
  });
  expect(referrerCodes(parsed)).toEqual(['BOB', 'CID', '8']);
  expect(referrerCodes(parseUser({}))).toEqual([]);
  expect(referrerCodes(parseUser({ referredBy: null, referredByCodes: null }))).toEqual([]);
});

test.each([
  'a@b.co',
  'ann+tag@sub.example.museum',
  '"odd one"@example.org',
  'ü@münchen.de',
  'a@b.xn--p1ai',
  ' ann@example.com ',
])('a user may have the address %s', (email) => {
  expect(parseUser({ email }).email).toBe(email.trim());
});

test.each([
  'ann',
  '@example.com',
  'ann@',
  'ann@example',
  'ann@example.c',
  'ann@example.c0',
  'ann@.com',
  'ann@exa mple.com',
  'ann@example..com',
  'x'.repeat(320) + '@example.com',
  5,
  {},
  true,
])('a user is refused for the address %j', (email) => {
  expect(refusal(() => parseUser({ email }))).toEqual(['email', 'RS023']);
});

test.each<[object, readonly string[]]>([
  [{ locale: 'EN' }, ['locale', 'RS039']],
  [{ locale: 'en-US' }, ['locale', 'RS039']],
  [{ countryCode: 'us' }, ['countryCode']],
  [{ countryCode: 'QQ' }, ['countryCode']],
  [{ imageUrl: '/a.png' }, ['imageUrl']],
  [{ imageUrl: 'ftp://example.com/a' }, ['imageUrl']],
  [{ imageUrl: 'javascript:alert(1)' }, ['imageUrl']],
  [{ firstName: 5 }, ['firstName']],
  [{ firstName: 'x'.repeat(3000) }, ['firstName']],
  [{ referable: 'true' }, ['referable']],
  [{ referralCode: 'a b' }, ['referralCode', 'RS034']],
  [{ referralCode: 'x'.repeat(16) }, ['referralCode', 'RS034']],
  [{ referralCode: {} }, ['referralCode', 'RS034']],
  [{ referralCodes: { default: 'a-b' } }, ['referralCodes', 'RS034']],
  [{ referralCodes: { 'a b': 'X' } }, ['referralCodes']],
  [{ referralCodes: [] }, ['referralCodes']],
  [{ referredBy: 'BOB' }, ['referredBy']],
  [{ referredBy: { code: [] } }, ['referredBy.code']],
  [{ referredByCodes: 'BOB' }, ['referredByCodes']],
  [{ referredByCodes: [{}] }, ['referredByCodes']],
  [{ customFields: [] }, ['customFields']],
  [{ customFields: { 'a b': 1 } }, ['customFields']],
  [{ customFields: { a: {} } }, ['customFields']],
  [{ customFields: { a: 'x'.repeat(1025) } }, ['customFields']],
  [{ customFields: { a: Infinity } }, ['customFields']],
  [{ customFields: { ['a'.repeat(65)]: 1 } }, ['customFields']],
  [
    { customFields: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, i])) },
    ['customFields'],
  ],
  [{ segments: 'vip' }, ['segments']],
  [{ segments: ['~'] }, ['segments']],
  [{ id: 'a\0' }, ['id']],
  [{ paymentProviderId: [] }, ['paymentProviderId']],
  [{ email: 'x', locale: 'y' }, ['email', 'locale', 'RS023']],
])('a user %j', (body, expected) => {
  expect(refusal(() => parseUser(body))).toEqual(expected);
});

test('a user needs both ids where they come in the body', () => {
  expect([...refusal(() => parseRequest(IdentifiedUserRequest, { email: 'x' }))].sort()).toEqual([
    'RS023',
    'accountId',
    'email',
    'id',
  ]);
  expect(parseRequest(IdentifiedUserRequest, { id: 1, accountId: 2, firstName: null })).toEqual({
    id: '1',
    accountId: '2',
    firstName: null,
  });
});

const parseModeration = (body: unknown) => parseRequest(ModerateReferralsRequest, body);

test('moderation names a referral and an action for each entry', () => {
  expect(
    parseModeration({
      actions: [
        { referralId: 'r', action: 'REFERRED_DENIED' },
        { referralId: 2, action: 'APPROVED', x: 1 },
      ],
    }),
  ).toEqual({
    actions: [
      { referralId: 'r', action: 'REFERRED_DENIED' },
      { referralId: '2', action: 'APPROVED' },
    ],
  });
});

const action = { referralId: 'r', action: 'DENIED' };
test.each<[unknown, readonly string[]]>([
  [{}, ['actions']],
  [{ actions: [] }, ['actions']],
  [{ actions: 'x' }, ['actions']],
  [{ actions: Array.from({ length: 101 }, () => action) }, ['actions']],
  [{ actions: [action, { referralId: 'r', action: 'denied' }] }, ['actions[1].action']],
  [{ actions: [{ action: 'DENIED' }] }, ['actions[0].referralId']],
])('moderation %j', (body, expected) => {
  expect([...new Set(refusal(() => parseModeration(body)))]).toEqual(expected);
});

test.each([[null], ['x'], [1], [[]]])('moderation is refused for the action %j', (value) => {
  expect(refusal(() => parseModeration({ actions: [value] })).length).toBeGreaterThan(0);
});

test('moderation refuses 350 000 empty actions quickly', () => {
  const { user } = process.cpuUsage();
  expect(
    refusal(() => parseModeration({ actions: Array.from({ length: 350_000 }, () => ({})) })).length,
  ).toBeLessThan(300);
  expect(process.cpuUsage().user - user).toBeLessThan(1_000_000);
});

const parseEvents = (over: object) =>
  parseRequest(UserEventsRequest, {
    userId: 'u',
    accountId: 'a',
    events: [{ key: 'k' }],
    ...over,
  });

const members = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, n]));
const ofBytes = (bytes: number) => {
  const event = {
    key: 'k',
    fields: { texts: ['', ...Array<string>(43).fill('x'.repeat(1_500))] },
  };
  event.fields.texts[0] = 'x'.repeat(bytes - JSON.stringify(event).length);
  return event;
};
const nested = (depth: number): unknown =>
  depth === 0 ? 'x'.repeat(1501) : { deeper: nested(depth - 1) };
test.each<[string, object]>([
  ['no events', { events: [] }],
  ['too many events', { events: Array.from({ length: 101 }, () => ({ key: 'k' })) }],
  ['events that are none', { events: { key: 'k' } }],
  ['an event that is none', { events: ['k'] }],
  ['no key', { events: [{ fields: {} }] }],
  ['a key that is no text', { events: [{ key: 5 }] }],
  ['an empty key', { events: [{ key: '' }] }],
  ['a long key', { events: [{ key: 'k'.repeat(1501) }] }],
  ['fields that are a list', { events: [{ key: 'k', fields: [] }] }],
  ['a long text', { events: [{ key: 'k', fields: { a: 'é'.repeat(751) } }] }],
  ['a long text inside', { events: [{ key: 'k', fields: nested(3) as object }] }],
  ['a list of lists', { events: [{ key: 'k', fields: { a: [[1]] } }] }],
  ['a list of lists inside', { events: [{ key: 'k', fields: { a: [{ b: [[]] }] } }] }],
  ['too many members', { events: [{ key: 'k' }, { key: 'k', fields: members(501) }] }],
  ['a large event', { events: [ofBytes(64 * 1024 + 1)] }],
  ['a time that is none', { events: [{ key: 'k', dateTriggered: 'now' }] }],
  ['a time with decimals', { events: [{ key: 'k', dateTriggered: 1.5 }] }],
  ['a short idempotency key', { idempotencyKey: '1234567' }],
  ['an idempotency key with blanks', { idempotencyKey: 'with blanks' }],
  ['no user', { userId: null }],
  ['no account', { accountId: null }],
])('events of a user are refused with %s', (_what, over) => {
  expect(refusal(() => parseEvents(over)).length).toBeGreaterThan(0);
});

test('events of a user are accepted up to the largest size', () => {
  const text = 'é'.repeat(750);
  const event = { key: 'k'.repeat(1500), fields: { [text]: text, list: [{ list: [text] }] } };
  expect(parseEvents({ events: Array.from({ length: 100 }, () => event) }).events).toHaveLength(
    100,
  );
  expect(
    parseEvents({ events: [{ key: 'k', fields: members(500) }, ofBytes(64 * 1024)] }),
  ).toBeDefined();
});

test('units are compared without white space around them', () => {
  const unit = '\u00a0Cents\t';
  const credit = parseCreateReward({ type: 'CREDIT', unit, assignedCredit: 1 });
  expect(rewardValueOf(credit)).toMatchObject({ unit: 'Cents' });
  expect(parseRequest(RedeemRequest, { amount: 1, unit })).toEqual({ amount: 1, unit: 'Cents' });
  expect(
    refusal(() => parseCreateReward({ type: 'CREDIT', unit: ' ', assignedCredit: 1 })),
  ).toEqual(['unit']);
});

test.each([0, -1, 1.5, 1e300, Infinity, 100])(
  'redemption passes the amount %p on to the decision',
  (amount) => {
    expect(parseRequest(RedeemRequest, { amount, unit: 'CENTS' })).toEqual({
      amount,
      unit: 'CENTS',
    });
  },
);

test.each<[object, readonly string[]]>([
  [{}, ['amount', 'unit']],
  [{ amount: '5', unit: 'CENTS' }, ['amount']],
  [{ amount: null, unit: 'CENTS' }, ['amount']],
  [{ amount: true, unit: 'CENTS' }, ['amount']],
  [{ amount: 5, unit: '' }, ['unit']],
  [{ amount: 5, unit: 7 }, ['unit']],
])('redemption %j', (body, expected) => {
  expect(refusal(() => parseRequest(RedeemRequest, body))).toEqual(expected);
  expect(refusal(() => parseRequest(BulkRedeemRequest, { ...body, accountId: 'a' }))).toEqual(
    expected,
  );
});

test('redemption in bulk names the account', () => {
  expect(refusal(() => parseRequest(BulkRedeemRequest, { amount: 5, unit: 'x' }))).toEqual([
    'accountId',
  ]);
  expect(parseRequest(BulkRedeemRequest, { amount: 5, unit: 'x', accountId: 9 })).toEqual({
    amount: 5,
    unit: 'x',
    accountId: '9',
  });
});

const credit = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
const percent = { type: 'PCT_DISCOUNT', discountPercent: 10 };
const tank = { type: 'FUELTANK', fuelTankCode: 'F1', fuelTankType: 'CREDIT', amount: 500 };

test('a new reward has the members of its type and no others', () => {
  const valueOf = (body: object) => rewardValueOf(parseCreateReward(body));
  const most = Number.MAX_SAFE_INTEGER;
  expect(valueOf({ ...credit, currency: 'USD' })).toEqual({ ...credit, currency: 'USD' });
  expect(valueOf({ ...credit, currency: null, assignedCredit: most })).toEqual({
    ...credit,
    currency: null,
    assignedCredit: most,
  });
  expect(valueOf({ ...percent, unit: '%' })).toEqual({ ...percent, monthsDiscountIsValid: null });
  expect(valueOf(tank)).toEqual({ ...tank, unit: null });
  expect(valueOf({ ...tank, amount: String(most), fuelTankCode: 7, unit: 'CENTS' })).toEqual({
    ...tank,
    amount: most,
    fuelTankCode: '7',
    unit: 'CENTS',
  });
});

test('a new reward of each type may have texts, dates and whether it can be cancelled', () => {
  const dates = { dateExpires: 2_000_000_000_000, dateScheduledFor: Date.UTC(2000, 0, 1) };
  expect(
    parseCreateReward({ ...percent, name: 'n', description: '', cancellable: false, ...dates }),
  ).toMatchObject({
    name: 'n',
    cancellable: false,
    ...dates,
  });
  const nulls = Object.fromEntries(
    [
      'name',
      'description',
      'dateExpires',
      'dateScheduledFor',
      'cancellable',
      'unit',
      'currency',
      'assignedCredit',
      'amount',
    ].map((name) => [name, null]),
  );
  expect(JSON.parse(JSON.stringify(parseCreateReward({ ...nulls, ...percent })))).toEqual(percent);
});

test.each<[object, readonly string[]]>([
  [{}, ['type']],
  [{ type: 'credit' }, ['type']],
  [{ ...credit, surprise: 1 }, ['surprise']],
  [{ ...percent, fueltankType: 'CREDIT' }, ['fueltankType']],
  [{ ...percent, assignedCredit: 5 }, ['assignedCredit']],
  [{ ...percent, unit: 'CENTS' }, ['unit']],
  [{ ...credit, discountPercent: 5 }, ['discountPercent']],
  [{ type: 'CREDIT' }, ['assignedCredit', 'unit']],
  [{ ...credit, unit: 'x'.repeat(65) }, ['unit']],
  [{ ...credit, assignedCredit: 0 }, ['assignedCredit']],
  [{ ...credit, assignedCredit: 1.5 }, ['assignedCredit']],
  [{ ...credit, assignedCredit: 2 ** 53 }, ['assignedCredit']],
  [{ ...credit, assignedCredit: '100' }, ['assignedCredit']],
  [{ ...credit, currency: 'dollar' }, ['currency']],
  [{ ...percent, discountPercent: 0 }, ['discountPercent']],
  [{ ...percent, discountPercent: 101 }, ['discountPercent']],
  [{ ...percent, discountPercent: '10' }, ['discountPercent']],
  ...[
    0,
    -0,
    0.5,
    2 ** 53,
    1e300,
    true,
    [1],
    { amount: 1 },
    null,
    '',
    ' 1',
    ...'0 00 -1 +1 1.0 1e3 0x10'.split(' '),
  ].map((amount): [object, readonly string[]] => [{ ...tank, amount }, ['amount']]),
  [{ ...tank, amount: '9007199254740992' }, ['amount']],
  [{ ...tank, fuelTankType: 'FUELTANK' }, ['fuelTankType']],
  [{ ...tank, fuelTankCode: null }, ['fuelTankCode']],
  [{ ...credit, dateExpires: '2030-01-01' }, ['dateExpires']],
  [{ ...credit, dateExpires: 1e17 }, ['dateExpires']],
  [{ ...credit, cancellable: 'no' }, ['cancellable']],
  [{ ...credit, name: 5 }, ['name']],
])('a new reward %j', (body, expected) => {
  expect([...refusal(() => parseCreateReward(body))].sort()).toEqual(expected);
});

const DISCOUNT = { accountId: 'a', paymentProviderId: 'cus', couponCode: 'ANN' };

test('a discount needs its three members', () => {
  expect(refusal(() => parseRequest(DiscountRequest, {}))).toEqual(Object.keys(DISCOUNT));
});

test('every request is refused with an id that can be none', () => {
  const subscription = { status: 'FREE', value: 1 };
  const moderation = { referralId: 'r', action: 'APPROVED' };
  const redeem = { amount: 1, unit: 'CENTS' };
  for (const id of BAD_IDS)
    for (const parse of [
      () => parseRequest(SyncAccountRequest, { id, subscription }),
      () => parseRequest(IdentifiedUserRequest, { id, accountId: 'a' }),
      () => parseRequest(IdentifiedUserRequest, { id: 'u', accountId: id }),
      () => parseRequest(BulkRedeemRequest, { accountId: id, ...redeem }),
      ...Object.keys(DISCOUNT).map(
        (member) => () => parseRequest(DiscountRequest, { ...DISCOUNT, [member]: id }),
      ),
      () =>
        parseRequest(ModerateReferralsRequest, { actions: [{ ...moderation, referralId: id }] }),
    ])
      expect(refusal(parse)).toHaveLength(1);
});
