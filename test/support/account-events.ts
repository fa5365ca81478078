import { createHash } from 'node:crypto';
import type {
  AccountEvent,
  AccountEventOf,
  Party,
  Profile,
  RewardSource,
  Subscription,
} from '../../src/domain/account/account.events.js';
import { personal, type Personal } from '../../src/domain/personal.js';
import { REFERRED_RULE, REFERRER_RULE, type RewardValue } from '../../src/domain/program.js';
import type { Mode, Scope } from '../../src/domain/scope.js';

/**
 * Builders of account events: a test gives what it is about. Times are small numbers by default.
 */

export interface TestAccount extends Scope {
  readonly accountId: string;
  readonly accountRef: string;
  readonly stream: string;
}

export function anAccount(
  accountId: string,
  { tenant = 'demo', mode = 'live' }: { tenant?: string; mode?: Mode } = {},
): TestAccount {
  const accountRef = hexOf(tenant, mode, accountId);
  return { tenant, mode, accountId, accountRef, stream: `account-${tenant}-${mode}-${accountRef}` };
}

/** The same id for the same words, so that a test can name a person. */
export function personOf(account: TestAccount, userId: string): string {
  const hex = hexOf(account.tenant, account.mode, account.accountId, userId);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

export const forgotten = <T>(subject: string): Personal<T> => ({ subject, value: null });

export function accountOpened(
  account: TestAccount,
  over: Partial<AccountEventOf<'AccountOpened'>> = {},
): AccountEvent {
  const subject = account.accountRef;
  return {
    type: 'AccountOpened',
    at: 1_000,
    account: subject,
    accountId: personal(subject, account.accountId),
    currency: 'USD',
    ...over,
  };
}

export function subscriptionChanged(subscription: Subscription, at = 1_100): AccountEvent {
  return { type: 'SubscriptionChanged', at, subscription };
}

export function aProfile(userId: string, over: Partial<Profile> = {}): Profile {
  return {
    id: userId,
    email: `${userId}@example.com`,
    firstName: null,
    lastName: null,
    imageUrl: null,
    locale: null,
    countryCode: null,
    referable: true,
    customFields: {},
    segments: [],
    cookieId: null,
    referralSource: null,
    firstSeenIP: null,
    lastSeenIP: null,
    firstSeenUserAgent: null,
    lastSeenUserAgent: null,
    ...over,
  };
}

export function userIdentified(
  account: TestAccount,
  userId: string,
  profile: Partial<Profile> = {},
  at = 1_200,
): AccountEvent {
  const person = personOf(account, userId);
  return {
    type: 'UserIdentified',
    at,
    person,
    profile: personal(person, aProfile(userId, profile)),
  };
}

export function userProfileChanged(
  account: TestAccount,
  userId: string,
  changes: Partial<Profile>,
  at = 1_300,
): AccountEvent {
  const person = personOf(account, userId);
  return { type: 'UserProfileChanged', at, person, changes: personal(person, changes) };
}

export function paymentProviderIdSet(
  account: TestAccount,
  id: string,
  at = 1_350,
): AccountEventOf<'PaymentProviderIdSet'> {
  const paymentProviderId = personal(account.accountRef, id);
  return { type: 'PaymentProviderIdSet', at, paymentProviderId };
}

export function referralCodeAssigned(
  account: TestAccount,
  userId: string,
  code: string,
  at = 1_400,
  programId = 'default',
): AccountEvent {
  const person = personOf(account, userId);
  return { type: 'ReferralCodeAssigned', at, person, code: personal(person, code), programId };
}

export function partyOf(account: TestAccount, userId: string): Party {
  const person = personOf(account, userId);
  return {
    account: account.accountRef,
    person,
    ids: personal(person, { accountId: account.accountId, userId }),
  };
}

export function accountAttributed(code: string, referrer: Party, at = 1_500): AccountEvent {
  return {
    type: 'AccountAttributed',
    at,
    code: personal(referrer.person, code),
    referrer,
    programId: 'default',
  };
}

const APPROVED = {
  programId: 'default',
  programVersion: 1,
  referredStatus: 'APPROVED',
  referrerStatus: 'APPROVED',
  referrerReward: null,
} as const;

export function referralStarted(
  referralId: string,
  referred: Party,
  referrer: Party,
  over: Partial<AccountEventOf<'ReferralStarted'>> = {},
): AccountEvent {
  return {
    type: 'ReferralStarted',
    at: 2_000,
    referralId,
    ...APPROVED,
    code: personal(referrer.person, 'CODE'),
    shareLinkUsed: null,
    referred,
    referrer,
    fraudSignals: {},
    tooManyWith: [],
    referredReward: null,
    ...over,
  };
}

export function referralConverted(
  referralId: string,
  referrer: Party,
  over: Partial<AccountEventOf<'ReferralConverted'>> = {},
): AccountEvent {
  return {
    type: 'ReferralConverted',
    at: 3_000,
    referralId,
    referrer,
    ...APPROVED,
    referredReward: null,
    ...over,
  };
}

export function referralModerated(
  referralId: string,
  referrer: Party,
  over: Partial<AccountEventOf<'ReferralModerated'>> = {},
): AccountEvent {
  return {
    type: 'ReferralModerated',
    at: 4_000,
    moderationId: 'moderation',
    referralId,
    referrer,
    ...APPROVED,
    ...over,
  };
}

export function moderationPrepared(
  moderationId: string,
  at: number,
  ...referralIds: readonly string[]
): AccountEvent {
  return { type: 'ModerationPrepared', at, moderationId, referralIds };
}

export const credit = (
  assignedCredit: number,
  unit = 'CENTS',
  currency: string | null = null,
): RewardValue => ({ type: 'CREDIT', unit, assignedCredit, currency });
export const discount = (discountPercent: number): RewardValue => ({
  type: 'PCT_DISCOUNT',
  discountPercent,
  monthsDiscountIsValid: null,
});
export const tankCode = (fuelTankCode: string): RewardValue => ({
  type: 'FUELTANK',
  fuelTankCode,
  fuelTankType: 'CREDIT',
  amount: 5,
  unit: null,
});

export function rewardGranted(
  rewardId: string,
  owner: Party,
  value: RewardValue,
  over: Partial<AccountEventOf<'RewardGranted'>> = {},
): AccountEventOf<'RewardGranted'> {
  return {
    type: 'RewardGranted',
    at: 2_100,
    rewardId,
    person: owner.person,
    owner: owner.ids,
    source: 'MANUAL',
    value,
    cancellable: true,
    texts: { subject: owner.person, value: null },
    dateScheduledFor: null,
    dateExpires: null,
    referralId: null,
    programId: null,
    programVersion: null,
    rule: ruleOf(over.source),
    redeemsAutomatically: false,
    ...over,
  };
}

/** What the rule of a side grants names it; the other sources are said by the test. */
function ruleOf(source: RewardSource = 'MANUAL'): string | null {
  if (source === 'REFERRED') return REFERRED_RULE;
  return source === 'FRIEND_SIGNUP' ? REFERRER_RULE : null;
}

export function rewardWithheld(
  over: Partial<AccountEventOf<'RewardWithheld'>> &
    Pick<AccountEventOf<'RewardWithheld'>, 'person'>,
): AccountEvent {
  return {
    type: 'RewardWithheld',
    at: 2_100,
    rewardId: 'reward',
    referralId: 'referral',
    programId: 'default',
    programVersion: 1,
    rule: REFERRED_RULE,
    reason: 'AMOUNT_TOO_LARGE',
    ...over,
  };
}

type About = 'RewardBecameAvailable' | 'RewardExpired' | 'RewardRestored';

export function aboutReward(
  type: About,
  granted: AccountEventOf<'RewardGranted'>,
  amount: number,
  at: number,
): AccountEvent {
  return { type, at, ...refOf(granted), amount };
}

/** About the first payment of a reward by the provider. */
export const aboutPush = <T extends 'RewardPushStarted' | 'RewardPushed' | 'RewardPushRefused'>(
  type: T,
  granted: AccountEventOf<'RewardGranted'>,
  members: Partial<AccountEventOf<T>>,
) => ({ type, ...refOf(granted), push: 1, ...members }) as AccountEventOf<T>;

export const referrerSideModerated = (
  status: AccountEventOf<'ReferrerSideModerated'>['status'],
  at: number,
  referralId = 'referral',
): AccountEventOf<'ReferrerSideModerated'> => ({
  type: 'ReferrerSideModerated',
  at,
  moderationId: 'm',
  referralId,
  status,
});

export function creditRedeemed(
  granted: AccountEventOf<'RewardGranted'>,
  redemptionId: string,
  amount: number,
  at: number,
): AccountEvent {
  return { type: 'CreditRedeemed', at, ...refOf(granted), redemptionId, amount };
}

/** Of several rewards, which further events list. */
export function accountCreditRedeemed(
  amount: number,
  over: Partial<AccountEventOf<'AccountCreditRedeemed'>> = {},
): AccountEvent {
  const redemption = { redemptionId: 'd', unit: 'CENTS', amount, onlyOf: null, rewards: 2 };
  return { type: 'AccountCreditRedeemed', at: 4_000, ...redemption, ...over };
}

export function redeemedRewardsListed(
  persons: readonly string[],
  lines: AccountEventOf<'RedeemedRewardsListed'>['lines'],
  over: Partial<AccountEventOf<'RedeemedRewardsListed'>> = {},
): AccountEvent {
  const redemption = { redemptionId: 'd', unit: 'CENTS', from: 0, persons, lines };
  return { type: 'RedeemedRewardsListed', at: 4_000, ...redemption, ...over };
}

export function rewardCancelled(
  granted: AccountEventOf<'RewardGranted'>,
  amount: number,
  at: number,
  by: 'REQUEST' | 'MODERATION' = 'REQUEST',
): AccountEvent {
  return { type: 'RewardCancelled', at, ...refOf(granted), amount, by };
}

export function erasureRequested(
  persons: readonly string[],
  over: Partial<AccountEventOf<'ErasureRequested'>> = {},
): AccountEventOf<'ErasureRequested'> {
  return {
    type: 'ErasureRequested',
    at: 9_000,
    erasureId: 'erasure',
    persons,
    account: null,
    suppressed: [],
    ...over,
  };
}

export function erasureCompleted(
  persons: readonly string[],
  over: Partial<AccountEventOf<'ErasureCompleted'>> = {},
): AccountEvent {
  return {
    type: 'ErasureCompleted',
    at: 9_100,
    erasureId: 'erasure',
    persons,
    account: null,
    ...over,
  };
}

export function refOf({ rewardId, person, value }: AccountEventOf<'RewardGranted'>) {
  return {
    rewardId,
    person,
    rewardType: value.type,
    unit: value.type === 'PCT_DISCOUNT' ? '%' : value.unit,
  };
}

function hexOf(...words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 32);
}
