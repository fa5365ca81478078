import fc from 'fast-check';
import type {
  AccountEvent,
  AccountEventOf,
  Party,
  Profile,
} from '../../../src/domain/account/account.events.js';
import type { Personal } from '../../../src/domain/personal.js';
import type {
  GrantTerms,
  PromisedValue,
  RewardTerms,
  RewardValue,
} from '../../../src/domain/program.js';

/**
 * Well-typed events in any order, whether or not a rule of today would produce them. Few ids, so
 * that they concern each other.
 */

type AnyOf<T> = { readonly [K in keyof T]-?: fc.Arbitrary<T[K]> };

const SUBJECTS = ['p1', 'p2', 'p3'] as const;
const person = fc.constantFrom<string>(...SUBJECTS);
const id = (kind: string) => fc.constantFrom(`${kind}1`, `${kind}2`);
const time = fc.integer();
const whole = fc.oneof(fc.nat(100), fc.constantFrom(0, Number.MAX_SAFE_INTEGER));
const text = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('__proto__', 'constructor', ''));
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { nil: null });
const hidden = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Personal<T>> =>
  fc.record({ subject: person, value: orNull(value) });

const party: fc.Arbitrary<Party> = fc.record({
  account: id('account'),
  person,
  ids: hidden(fc.record({ accountId: text, userId: text })),
});
const adjustment = fc.option(
  fc.record({ reason: hidden(text), approvedBy: hidden(text), by: hidden(text) }),
  { nil: undefined },
);
const side = fc.constantFrom('PENDING' as const, 'APPROVED' as const, 'DENIED' as const);
const unit = fc.constantFrom('CENTS', 'cents', '');

const profileMembers: AnyOf<Profile> = {
  id: text,
  email: orNull(text),
  firstName: orNull(text),
  lastName: orNull(text),
  imageUrl: orNull(text),
  locale: orNull(text),

  countryCode: orNull(text),
  referable: fc.boolean(),
  customFields: fc.dictionary(text, fc.oneof(text, fc.nat(), fc.boolean()), { maxKeys: 2 }),

  segments: fc.array(text, { maxLength: 2 }),
  cookieId: orNull(text),
  referralSource: orNull(text),
  firstSeenIP: orNull(text),

  lastSeenIP: orNull(text),
  firstSeenUserAgent: orNull(text),
  lastSeenUserAgent: orNull(text),
};

const value: fc.Arbitrary<RewardValue> = fc.oneof(
  fc.record({
    type: fc.constant('CREDIT' as const),
    unit,
    assignedCredit: whole,
    currency: orNull(text),
  }),
  fc.record({
    type: fc.constant('PCT_DISCOUNT' as const),
    discountPercent: fc.nat(100),
    monthsDiscountIsValid: orNull(fc.nat(12)),
  }),
  fc.record({
    type: fc.constant('FUELTANK' as const),
    fuelTankCode: text,
    fuelTankType: fc.constantFrom('PCT_DISCOUNT' as const, 'CREDIT' as const),
    amount: whole,
    unit: orNull(text),
  }),
);
const promised: fc.Arbitrary<PromisedValue> = value.map((given) => {
  if (given.type !== 'FUELTANK') return given;
  const { fuelTankCode: _, ...tank } = given;
  return tank;
});
const payTo = fc.constantFrom('provider' as const, undefined);
const grantTerms: AnyOf<GrantTerms> = {
  value: promised,
  name: orNull(text),
  description: orNull(text),
  cancellable: fc.boolean(),
  validDays: orNull(fc.nat(9)),
  delayDays: fc.nat(9),
  limit: orNull(fc.record({ total: orNull(fc.nat(3)), perDay: orNull(fc.nat(3)) })),
  redeemsAutomatically: fc.boolean(),
  payTo,
};
const terms: fc.Arbitrary<RewardTerms> = fc.record({
  ...grantTerms,
  when: fc.constantFrom('STARTED' as const, 'CONVERTED' as const),
});
const fraudSignals = fc.dictionary(text, fc.record({ message: text, score: fc.nat(50) }), {
  maxKeys: 2,
});

const referralId = id('referral');
const moderationId = id('moderation');
const rule = fc.constantFrom('referredReward', 'referrerReward', 'eventRewards/USER/visit');
const program = { programId: id('program'), programVersion: fc.nat(3) };
const statuses = { referredStatus: side, referrerStatus: side };
const ofReferral = { referralId, referrer: party, ...program, ...statuses };
const earnedRewards = { referredReward: orNull(terms), referrerReward: orNull(terms) };
const rewardRef = {
  rewardId: id('reward'),
  person,
  rewardType: fc.constantFrom('CREDIT' as const, 'PCT_DISCOUNT' as const),
  unit: orNull(unit),
};

const ofGrant = {
  rewardId: rewardRef.rewardId,
  person,
  referralId: orNull(referralId),
  programId: orNull(program.programId),
  programVersion: orNull(fc.nat(3)),
  rule: orNull(rule),
};

const push = fc.nat(2);
const pushBody = fc.record({
  calls: fc.array(
    fc.record({
      kind: fc.constant('BALANCE_CREDIT' as const),
      key: text,
      customer: text,
      amount: whole,
      currency: text,
    }),
    { maxLength: 2 },
  ),
  done: fc.array(text, { maxLength: 2 }),
});

const erased = {
  erasureId: id('erasure'),
  persons: fc.array(person, { maxLength: 2 }),
  account: orNull(person),
  customer: person,
};

type Members<T extends AccountEvent['type']> = AnyOf<Omit<AccountEventOf<T>, 'type' | 'at'>>;

const MEMBERS: { readonly [T in AccountEvent['type']]: Members<T> } = {
  AccountOpened: { account: person, accountId: hidden(text), currency: text },
  SubscriptionChanged: {
    subscription: fc.record({
      status: fc.constantFrom(...(['PAID', 'TRIAL', 'FREE', 'CANCELLED'] as const)),
    }),
  },
  CurrencyChanged: { currency: text },
  AccountAttributed: { code: hidden(text), referrer: party, programId: program.programId },
  PaymentProviderIdSet: { paymentProviderId: hidden(text) },
  UserIdentified: { person, profile: hidden(fc.record(profileMembers)) },
  UserProfileChanged: { person, changes: hidden(fc.record(profileMembers, { requiredKeys: [] })) },
  ReferralCodeAssigned: { person, code: hidden(text), programId: program.programId },
  UserBlocked: { person },
  UserUnblocked: { person },
  MailsUnsubscribed: { person },
  ReferralStarted: {
    ...ofReferral,
    ...earnedRewards,
    code: hidden(text),
    shareLinkUsed: orNull(text),
    referred: party,
    fraudSignals,
    tooManyWith: fc.array(fc.record({ referralId, account: id('account') }), { maxLength: 2 }),
  },
  ReferralConverted: { ...ofReferral, ...earnedRewards },
  ReferralEnded: { referralId },
  ReferralRefunded: { referralId, referrer: party },
  ReferrerSideRefunded: { referralId },
  ReferralFlagged: { referralId, fraudSignals },
  ReferralAnnounced: { referralId, account: id('account'), person },
  ReferralWithdrawn: { referralId },
  ReservationLapsed: {
    kind: fc.constantFrom('referral-code', 'payment-provider-id'),
    holder: orNull(person),
  },
  UserEventReceived: {
    userEventId: id('event'),
    person,
    batch: orNull(id('batch')),
    content: hidden(
      fc.record({
        id: text,
        key: text,
        fields: fc.dictionary(text, fc.oneof(text, fc.double()), { maxKeys: 2 }),
        dateTriggered: time,
      }),
    ),
    recalled: hidden(fc.array(fc.tuple(text, orNull(fc.integer())), { maxLength: 2 })),
    idRef: id('event-id'),
    repeated: fc.constantFrom(true, undefined),
  },
  ReferrerRewardEarnedByEvent: {
    referralId,
    userEventId: id('event'),
    referrer: party,
    ...program,
    rule: text,
    terms: fc.record(grantTerms),
  },
  ModerationPrepared: { moderationId, referralIds: fc.array(referralId, { maxLength: 2 }) },
  ModerationReleased: { moderationId },
  ReferralModerated: { ...ofReferral, moderationId, referrerReward: orNull(terms) },
  ReferrerSideModerated: { moderationId, referralId, status: side },
  RewardGranted: {
    ...ofGrant,
    owner: party.map(({ ids }) => ids),
    value,
    texts: hidden(fc.record({ name: orNull(text), description: orNull(text) })),
    source: fc.constantFrom(...(['FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'EVENT'] as const)),

    cancellable: fc.boolean(),
    dateScheduledFor: orNull(time),
    dateExpires: orNull(time),
    redeemsAutomatically: fc.boolean(),
    payTo,
    adjustment,
  },
  RewardWithheld: {
    ...ofGrant,
    rewardId: orNull(rewardRef.rewardId),
    reason: fc.constantFrom(
      ...(['AMOUNT_TOO_LARGE', 'LIMIT_REACHED', 'POOL_EMPTY', 'CURRENCY_DIFFERS'] as const),
    ),
  },
  RewardBecameAvailable: { ...rewardRef, amount: whole },
  RewardExpired: { ...rewardRef, amount: whole },
  CreditRedeemed: {
    ...rewardRef,
    redemptionId: text,
    amount: whole,
    adjustment,
    externalReference: fc.option(hidden(text), { nil: undefined }),
  },
  AccountCreditRedeemed: {
    redemptionId: id('redemption'),
    unit,
    amount: whole,
    onlyOf: orNull(person),
    rewards: whole,
    adjustment,
    owners: fc.option(fc.array(fc.tuple(person, whole), { maxLength: 2 }), { nil: undefined }),
  },
  RedeemedRewardsListed: {
    redemptionId: id('redemption'),
    unit,
    from: fc.nat(3),
    persons: fc.array(person, { maxLength: 2 }),
    lines: fc.array(fc.tuple(rewardRef.rewardId, fc.nat(2), whole), { maxLength: 2 }),
    posted: fc.constantFrom(true, undefined),
  },
  RewardCancelled: {
    ...rewardRef,
    amount: whole,
    by: fc.constantFrom('REQUEST' as const, 'MODERATION' as const),
  },
  RewardRestored: { ...rewardRef, amount: whole },
  RewardPushStarted: { ...rewardRef, push, amount: whole, body: hidden(pushBody) },
  RewardPushed: { ...rewardRef, push, reference: hidden(text) },
  RewardPushRefused: {
    ...rewardRef,
    push,
    reason: text,
    done: hidden(fc.array(text, { maxLength: 2 })),
    reference: fc.option(hidden(text), { nil: undefined }),
    mayBePaid: fc.constantFrom(true as const, undefined),
  },
  ErasureRequested: { ...erased, suppressed: fc.array(text, { maxLength: 2 }) },
  ErasureCompleted: erased,
};

function eventOf<T extends AccountEvent['type']>(type: T): fc.Arbitrary<AccountEvent> {
  const members: Readonly<Record<string, fc.Arbitrary<unknown>>> = MEMBERS[type];
  return fc.record({
    type: fc.constant(type),
    at: time,
    ...members,
  }) as fc.Arbitrary<unknown> as fc.Arbitrary<AccountEvent>;
}

export const ACCOUNT_EVENT_TYPES = Object.keys(MEMBERS) as AccountEvent['type'][];

export const anyEvents: fc.Arbitrary<readonly AccountEvent[]> = fc
  .tuple(
    fc.boolean(),
    eventOf('AccountOpened'),
    fc.array(fc.oneof(...ACCOUNT_EVENT_TYPES.map(eventOf)), { maxLength: 60, size: 'max' }),
  )
  .map(([isOpen, opened, events]) => (isOpen ? [opened, ...events] : events));
