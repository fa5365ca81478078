import type { Adjustment, Party, Profile } from '../../../src/domain/account/account.events.js';
import type { DomainEvent } from '../../../src/domain/events.js';
import { personal } from '../../../src/domain/personal.js';
import type { GrantTerms, RewardTerms } from '../../../src/domain/program.js';

/**
 * One event of every type, with a value in every member: a type that is new does not compile until
 * it has an example. What a stored sample decodes to stands in the sample itself, so examples may
 * change with the types.
 */

const ACCOUNT = '0a000000-0000-4000-8000-000000000001';
const BOB_ID = '0b000000-0000-4000-8000-000000000002';
const ANN_ID = '0c000000-0000-4000-8000-000000000003';
const ACME = 'a'.repeat(32);
const ANNS = 'b'.repeat(32);
const REFERRAL = `${ACME}${'1'.repeat(16)}`;
const REWARD = `${ACME}${'2'.repeat(16)}`;
const CONNECTION = '0f000000-0000-4000-8000-000000000008';
const OTHER_CONNECTION = '0f000000-0000-4000-8000-000000000009';
const ERASURE = '0d000000-0000-4000-8000-000000000005';
const EXPORT = '0e000000-0000-4000-8000-000000000007';
const MODERATION = '0d000000-0000-4000-8000-000000000004';

const BOB: Party = {
  account: ACME,
  person: BOB_ID,
  ids: personal(BOB_ID, { accountId: 'acme-account-id', userId: 'bob-user-id' }),
};
const ANN: Party = {
  account: ANNS,
  person: ANN_ID,
  ids: personal(ANN_ID, { accountId: 'anns-account-id', userId: 'ann-user-id' }),
};

const STAFF_ID = '0a000000-0000-4000-8000-000000000006';
const ADJUSTMENT: Adjustment = {
  reason: personal(BOB_ID, 'bob was overcharged'),
  approvedBy: personal(STAFF_ID, 'Staff Approver'),
  by: personal(STAFF_ID, 'Staff Operator'),
};

const PROFILE: Profile = {
  id: 'bob-user-id',
  email: 'bob.personal@example.com',
  firstName: 'Bobfirst',
  lastName: 'Boblast',
  imageUrl: 'https://example.com/bob.png',
  locale: 'en_CA',
  countryCode: 'CA',
  referable: true,
  customFields: { plan: 'bobs-plan', seats: 3, trial: false },
  segments: ['bobs-segment'],
  cookieId: 'bobs-cookie',
  referralSource: 'bobs-source',
  firstSeenIP: '192.0.2.11',
  lastSeenIP: '192.0.2.12',
  firstSeenUserAgent: 'BobAgent/1',
  lastSeenUserAgent: 'BobAgent/2',
};

const CREDIT = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000, currency: 'USD' } as const;
const TERMS: RewardTerms = {
  value: CREDIT,
  when: 'CONVERTED',
  name: 'Thanks',
  description: 'For Bob',

  cancellable: false,
  validDays: 30,
  delayDays: 2,
  limit: { total: 10, perDay: null },
  redeemsAutomatically: true,
};
const GRANT_TERMS: GrantTerms = {
  value: { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 5, unit: 'LITRES' },
  name: null,
  description: null,

  cancellable: true,
  validDays: 7,
  delayDays: 0,
  limit: { total: null, perDay: 2 },
  redeemsAutomatically: false,
};
const PERCENT: RewardTerms = {
  value: { type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: 3 },
  when: 'STARTED',
  name: null,
  description: null,
  cancellable: true,
  validDays: null,
  delayDays: 0,
  limit: null,
  redeemsAutomatically: false,
};
const TANK_HOLDER = { account: ACME, rewardId: REWARD };
const REF = { rewardId: REWARD, person: BOB_ID, rewardType: 'CREDIT', unit: 'CENTS' } as const;

type Examples = { readonly [T in DomainEvent['type']]: Extract<DomainEvent, { type: T }> };
/** The type is the name. */
type Contents = {
  readonly [T in DomainEvent['type']]: Omit<Extract<DomainEvent, { type: T }>, 'type'>;
};

const CONTENTS: Contents = {
  AccountOpened: {
    at: 1,
    account: ACCOUNT,
    accountId: personal(ACCOUNT, 'acme-account-id'),
    currency: 'USD',
  },
  SubscriptionChanged: {
    at: 2,
    subscription: {
      status: 'PAID',
      value: 9.99,
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
    },
  },
  CurrencyChanged: { at: 3, currency: 'EUR' },
  AccountAttributed: {
    at: 4,
    code: personal(ANN_ID, 'ANNSCODE'),
    referrer: ANN,
    programId: 'default',
  },
  PaymentProviderIdSet: {
    at: 5,
    paymentProviderId: personal(ACCOUNT, 'acmes-customer-number'),
  },
  UserIdentified: {
    at: 6,
    person: BOB_ID,
    profile: personal(BOB_ID, PROFILE),
  },
  UserProfileChanged: {
    at: 7,
    person: BOB_ID,
    changes: personal(BOB_ID, { email: null, firstName: 'Robertfirst' }),
  },
  ReferralCodeAssigned: {
    at: 8,
    person: BOB_ID,
    code: personal(BOB_ID, 'BOBSCODE'),
    programId: 'default',
  },
  UserBlocked: { at: 9, person: BOB_ID },
  UserUnblocked: { at: 10, person: BOB_ID },
  MailsUnsubscribed: { at: 10, person: BOB_ID },
  ReferralStarted: {
    at: 11,
    referralId: REFERRAL,
    programId: 'default',
    programVersion: 2,
    code: personal(ANN_ID, 'ANNSCODE'),

    shareLinkUsed: null,
    referred: BOB,
    referrer: ANN,
    referredStatus: 'APPROVED',
    referrerStatus: 'PENDING',

    fraudSignals: { rate: { message: 'many at once', score: 50 } },
    tooManyWith: [{ referralId: REFERRAL, account: ACME }],
    referredReward: PERCENT,
    referrerReward: null,
  },
  ReferralConverted: {
    at: 12,
    referralId: REFERRAL,
    programId: 'default',
    programVersion: 3,
    referrer: ANN,

    referredStatus: 'APPROVED',
    referrerStatus: 'DENIED',
    referredReward: null,
    referrerReward: TERMS,
  },
  ReferralFlagged: {
    at: 13,
    referralId: REFERRAL,
    fraudSignals: { rate: { message: 'many at once', score: 50 } },
  },
  ReferralAnnounced: {
    at: 13,
    referralId: REFERRAL,
    account: ACME,
    person: ANN_ID,
  },
  ReferralWithdrawn: { at: 13, referralId: REFERRAL },
  ReservationLapsed: { at: 13, kind: 'referral-code', holder: BOB_ID },
  UserEventReceived: {
    at: 13,
    userEventId: MODERATION,
    person: BOB_ID,
    batch: 'e'.repeat(64),
    content: personal(BOB_ID, {
      id: 'bobs-event-id',
      key: 'bobs-purchase',
      dateTriggered: 12,
      fields: {
        total: 9.5,
        order_id: 'bobs-order',
        gift: false,
        note: null,
        products: [{ sku: 'bobs-shoes' }],
      },
    }),
  },
  ReferrerRewardEarnedByEvent: {
    at: 13,
    referralId: REFERRAL,
    userEventId: MODERATION,
    referrer: ANN,

    programId: 'default',
    programVersion: 3,
    rule: 'eventRewards/REFERRER/purchase',
    terms: GRANT_TERMS,
  },
  ReferralRefunded: { at: 12, referralId: REFERRAL, referrer: ANN },
  ReferrerSideRefunded: { at: 12, referralId: REFERRAL },
  ReferralEnded: { at: 13, referralId: REFERRAL },
  ModerationPrepared: {
    at: 14,
    moderationId: MODERATION,
    referralIds: [REFERRAL],
  },
  ModerationReleased: { at: 15, moderationId: MODERATION },
  ReferralModerated: {
    at: 16,
    moderationId: MODERATION,
    referralId: REFERRAL,
    referredStatus: 'APPROVED',
    referrerStatus: 'DENIED',
    referrer: ANN,
    referrerReward: TERMS,
    programId: 'default',
    programVersion: 3,
  },
  ReferrerSideModerated: {
    at: 17,
    moderationId: MODERATION,
    referralId: REFERRAL,
    status: 'DENIED',
  },
  RewardGranted: {
    at: 18,
    rewardId: REWARD,
    person: BOB_ID,
    owner: BOB.ids,
    source: 'REFERRED',
    value: CREDIT,

    texts: personal(BOB_ID, { name: 'Thanks', description: 'For Bob' }),
    cancellable: false,
    dateScheduledFor: 20,
    dateExpires: 30,

    referralId: REFERRAL,
    programId: 'default',
    programVersion: 2,
    rule: 'referredReward',
    redeemsAutomatically: true,
    adjustment: ADJUSTMENT,
  },
  RewardWithheld: {
    at: 19,
    rewardId: REWARD,
    referralId: REFERRAL,
    person: BOB_ID,
    programId: 'default',
    programVersion: 2,
    rule: 'referredReward',
    reason: 'POOL_EMPTY',
  },
  RewardBecameAvailable: { at: 20, ...REF, amount: 1000 },
  RewardExpired: { at: 30, ...REF, amount: 400 },
  CreditRedeemed: {
    at: 21,
    ...REF,
    redemptionId: 'redemption',
    amount: 600,
    adjustment: ADJUSTMENT,
  },
  AccountCreditRedeemed: {
    at: 21,
    redemptionId: 'redemption',
    unit: 'CENTS',
    amount: 600,
    onlyOf: BOB_ID,
    rewards: 101,
    adjustment: ADJUSTMENT,
  },
  RedeemedRewardsListed: {
    at: 21,
    redemptionId: 'redemption',
    unit: 'CENTS',
    from: 0,
    persons: [BOB_ID],
    lines: [[REF.rewardId, 0, 600]],
  },
  RewardCancelled: { at: 22, ...REF, amount: 400, by: 'MODERATION' },
  RewardRestored: { at: 23, ...REF, amount: 400 },
  RewardPushStarted: {
    at: 24,
    ...REF,
    push: 1,
    amount: 400,
    body: personal(ACCOUNT, {
      calls: [
        {
          kind: 'BALANCE_CREDIT',
          key: `reward:${REF.rewardId}`,
          customer: 'cus_1',
          amount: 400,
          currency: 'USD',
        },
        {
          kind: 'DISCOUNT',
          key: `reward:${REF.rewardId}:sub_2`,
          subscription: 'sub_2',
          percent: 10,
          months: 3,
          keeps: ['di_1'],
          slot: 4,
        },
      ],
      done: ['sub_1'],
    }),
  },
  RewardPushed: {
    at: 25,
    ...REF,
    push: 1,
    reference: personal(ACCOUNT, 'cbtxn_1'),
  },
  RewardPushRefused: {
    at: 26,
    ...REF,
    push: 1,
    reason: 'the provider answered 404 (resource_missing)',
    done: personal(ACCOUNT, ['sub_1']),
    reference: personal(ACCOUNT, 'di_1'),
  },
  ErasureRequested: {
    at: 41,
    erasureId: ERASURE,
    persons: [BOB_ID],
    account: ACCOUNT,
    suppressed: ['c'.repeat(32)],
  },
  ErasureCompleted: {
    at: 42,
    erasureId: ERASURE,
    persons: [BOB_ID],
    account: ACCOUNT,
  },
  PersonalDataViewed: { at: 43, account: ACME, person: BOB_ID },
  ReservationMade: {
    at: 24,
    kind: 'referral-code',
    key: personal(BOB_ID, 'BOBSCODE'),
    holder: { account: ACME, person: BOB_ID },
    programId: 'default',
    claim: MODERATION,
  },
  ReservationReleased: {
    at: 25,
    holder: { account: ACME, person: null },
    claim: null,
  },
  TenantAliasEntered: { at: 26, alias: 'acme' },
  TenantCreated: {
    at: 26,
    alias: 'acme',
    programType: 'API_ONLY',
    openEndpoints: false,
  },
  ApiKeyIssued: {
    at: 27,
    keyId: 'live-1',
    mode: 'live',
    hash: 'f'.repeat(64),
    sealed: 'c2VhbGVk',
  },
  ApiKeyRetired: { at: 28, keyId: 'live-1', validUntil: 29 },
  SigningSecretIssued: { at: 29, mode: 'test', sealed: 'c2VhbGVk' },
  SigningSecretRetired: {
    at: 47,
    secretId: 'signing-live',
    validUntil: 48,
  },
  TenantSuspended: {
    at: 49,
    reason: personal(STAFF_ID, 'their key is on a public page'),
    by: personal(STAFF_ID, 'Staff Operator'),
  },
  TenantResumed: { at: 50 },
  MailSettingsChanged: {
    at: 51,
    types: ['REFERRAL_CONVERTED', 'WELCOME'],
    testTo: { sealed: 'c2VhbGVk', digest: 'd1' },
  },
  TokensNotBeforeChanged: { at: 51, tokensNotBefore: 50 },
  ProviderEventReceived: {
    at: 56,
    provider: 'stripe',
    eventType: 'invoice.paid',
    eventRef: 'a keyed hash',
    created: 55,
    ids: personal(CONNECTION, { event: 'evt_1', invoice: 'in_1', payments: ['pi_1'] }),
    refs: { invoice: 'a third keyed hash', subscription: null, left: [] },
    fact: {
      kind: 'INVOICE_PAID',
      amountPaid: 1999,
      currency: 'EUR',
      interval: { type: 'MONTH', value: 1 },
    },
  },
  CustomerReleased: { at: 56, account: CONNECTION },
  PaymentProviderConnected: {
    at: 57,
    mode: 'test',
    provider: 'stripe',
    secrets: personal(CONNECTION, 'encrypted secrets'),
    replacedValidUntil: 58,
    ended: [OTHER_CONNECTION],
  },
  PaymentProviderDisconnected: {
    at: 58,
    mode: 'test',
    ended: [OTHER_CONNECTION],
  },
  WebhookSubscribed: {
    at: 52,
    mode: 'live',
    endpointId: 'a keyed hash',
    sealed: 'url and name, encrypted',
    digest: 'a keyed digest',
  },
  WebhookSecretIssued: {
    at: 53,
    mode: 'live',
    endpointId: 'a keyed hash',
    secretId: 'secret-1',
    sealed: 'a secret, encrypted',
  },
  WebhookSecretRetired: {
    at: 54,
    mode: 'live',
    endpointId: 'a keyed hash',
    secretId: 'secret-1',
    validUntil: 60,
  },
  WebhookDisabled: {
    at: 55,
    mode: 'live',
    endpointId: 'a keyed hash',
    because: 'GONE',
  },
  WebhookEnabled: { at: 56, mode: 'test', endpointId: 'a keyed hash' },
  WebhookUnsubscribed: {
    at: 57,
    mode: 'test',
    endpointId: 'a keyed hash',
  },
  OpenEndpointsSwitched: { at: 30, openEndpoints: true },
  OpenRulesChanged: {
    at: 37,
    rules: {
      tokensMustExpire: true,
      allowedOrigins: ['https://shop.example'],
      rateLimits: { code: 5 },
    },
  },
  ProgramTypeChanged: { at: 31, programType: 'PAYMENT_PROVIDER' },
  ProgramApplied: {
    at: 32,
    version: 2,
    isDefault: true,
    document: {
      id: 'default',
      eventRewards: [
        { key: 'visit', to: 'USER', reward: { type: 'PCT_DISCOUNT', discountPercent: 5 } },
      ],
    },
    eventRules: ['eventRewards/USER/visit/2'],
  },
  ModerationRequested: {
    at: 33,
    moderationId: MODERATION,
    items: [
      {
        referralId: REFERRAL,
        referred: 'APPROVED',
        referrer: 'DENIED',
        referredAccount: ACME,
        referrerAccount: ANNS,
      },
    ],
  },
  ModerationAgreed: { at: 34, moderationId: MODERATION },
  ModerationRefused: {
    at: 35,
    moderationId: MODERATION,
    reasons: [`${REFERRAL}: there is no such referral`],
  },
  ModerationCompleted: { at: 36, moderationId: MODERATION },
  TankCodeReserved: {
    at: 37,
    code: 'TANK-1',
    holder: TANK_HOLDER,
    claim: MODERATION,
  },
  TankCodeHandedOut: { at: 38, code: 'TANK-1', holder: TANK_HOLDER },
  TankCodeReleased: {
    at: 39,
    code: 'TANK-1',
    holder: TANK_HOLDER,
    claim: null,
  },
  ShareLinkFollowed: {
    at: 38,
    person: ANN_ID,
    programId: 'default',
    shareMedium: 'EMAIL',
    engagementMedium: 'MOBILE',
  },
  ShareLinkVisitsCounted: {
    at: 53,
    person: ANN_ID,
    programId: 'default',
    since: 52,
    visits: [{ shareMedium: 'EMAIL', engagementMedium: 'MOBILE', count: 3 }],
  },
  PeriodClosed: {
    at: 44,
    period: '2026-10',

    comment: personal(STAFF_ID, 'tied out to the bank'),
    by: personal(STAFF_ID, 'Staff Operator'),
  },
  PeriodReopened: {
    at: 45,
    period: '2026-10',

    comment: personal(STAFF_ID, 'a file came late'),
    by: personal(STAFF_ID, 'Staff Operator'),
  },
  OperationRecorded: {
    at: 46,
    operation: 'ledger statement',
    by: personal(STAFF_ID, 'Staff Operator'),
    parameters: { account: ACME },
    resultDigest: 'c'.repeat(64),
  },
  ExportRequested: {
    at: 47,
    exportId: EXPORT,
    exportType: 'REFERRAL',
    format: 'XLSX',
    expiresAt: 48,
    texts: personal(EXPORT, {
      name: 'Referrals of May',
      requester: 'Staff Operator',
      params: { createdSince: 1, createdBefore: '2026-06-01', programId: 'spring' },
    }),
  },
  ExportCompleted: {
    at: 49,
    exportId: EXPORT,
    file: { position: '17', rows: 3, bytes: 400, sha256: 'd'.repeat(64) },
  },
  ExportAborted: {
    at: 50,
    exportId: EXPORT,
    reason: 'cancelled by an operator',
  },
  ExportExpired: { at: 51, exportId: EXPORT, because: 'FORGOTTEN' },
  ExportDownloaded: {
    at: 54,
    exportId: EXPORT,
    downloads: 3,
    since: 52,
  },
  CorrectionProposed: {
    at: 53,
    proposalId: 'd'.repeat(32),
    account: ACME,
    person: BOB_ID,
    accountId: personal(ACCOUNT, 'acme-account-id'),
    userId: personal(BOB_ID, 'bob-user-id'),
    unit: 'CENTS',
    amount: -250,
    reason: personal(BOB_ID, 'bob was charged twice'),
    by: personal(STAFF_ID, 'Staff Operator'),
  },
  ThemePublished: {
    at: 54,
    change: 32,
    locale: 'fr_CA',
    version: 3,
    before: 30,
    by: personal(STAFF_ID, 'Staff Operator'),
    opening: {
      locales: [{ locale: 'fr_CA', version: 2, change: 30, bytes: null }],
      usedBytes: 16_384,
      usedAt: 53,
    },
    values: { jsOptions: {}, widget: {}, email: {}, page: { heading: 'Bonjour' } },
    bytes: 70,
    restores: 1,
  },
  ThemeRemoved: {
    at: 55,
    change: 33,
    locale: 'fr_CA',
    version: 4,
    before: 32,
    by: null,
    opening: null,
  },
};

export const EVENT_EXAMPLES = Object.fromEntries(
  Object.entries(CONTENTS).map(([type, content]) => [type, { type, ...content }]),
) as unknown as Examples;
