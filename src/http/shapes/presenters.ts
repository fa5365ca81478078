import { createHash } from 'node:crypto';
import type { Subscription } from '../../domain/account/account.events.js';
import type { AccountFacts, BalanceFacts, ReferralFacts, RewardFacts, UserFacts } from '../../domain/account/account.facts.js';
import type { PromisedValue, RewardType } from '../../domain/program.js';
import type { ShareLinks } from '../share-links/share-links.js';

/** From facts to the JSON of the interface. Pure. Every member is always there, null where there is no value, unless a line says otherwise. */

/** `subscription` alone leaves out what is not set. */
export function accountJson(facts: AccountFacts) {
  return {
    id: facts.accountId,
    currency: facts.currency,
    subscription: subscriptionJson(facts.subscription),
    referral: facts.referralCode === null ? null : { code: facts.referralCode },
  };
}

function subscriptionJson({ status, value, billingIntervalType, billingIntervalValue }: Subscription) {
  return {
    status,
    ...(value === undefined ? {} : { value }),
    ...(billingIntervalType === undefined ? {} : { billingIntervalType }),
    ...(billingIntervalValue === undefined ? {} : { billingIntervalValue }),
  };
}

export interface UserSurroundings {
  readonly links: ShareLinks;
  /** `referralCode` and `shareLinks` are of this program. */
  readonly defaultProgramId: string;
  /** True in the answer to the very call that started the referral. */
  readonly newlyReferred?: boolean;
}

/** A full user. `imageUrl` is `""` when unset; lists and maps are empty rather than null. */
export function userJson(facts: UserFacts, { links, defaultProgramId, newlyReferred = false }: UserSurroundings) {
  const code = ownCode(facts, defaultProgramId);
  return {
    id: facts.userId,
    accountId: facts.accountId,
    referralCode: code,
    email: facts.email,
    imageUrl: facts.imageUrl ?? '',
    firstName: facts.firstName,
    lastName: facts.lastName,
    locale: facts.locale,
    countryCode: facts.countryCode,
    firstSeenIP: facts.firstSeenIP,
    lastSeenIP: facts.lastSeenIP,
    dateCreated: facts.dateCreated,
    emailHash: emailHash(facts.email),
    referralSource: facts.referralSource,
    shareLinks: code === null ? null : links.flat(code),
    programShareLinks: Object.fromEntries(Object.entries(facts.referralCodes).map(([program, own]) => [program, links.ofProgram(own)])),
    cookieId: facts.cookieId,
    referralCodes: { ...facts.referralCodes },
    referredBy:
      facts.referredBy === null ? null : { code: facts.referredBy.code, isConverted: facts.referredBy.isConverted, newlyReferred },
    referredByCodes: facts.referredBy === null || facts.referredBy.code === null ? [] : [facts.referredBy.code],
    referable: facts.referable,
    customFields: { ...facts.customFields },
    segments: [...facts.segments],
    paymentProviderId: facts.paymentProviderId,
  };
}

export type UserJson = ReturnType<typeof userJson>;

/** What `fields` and `extraFields` may name. */
export const USER_FIELDS = {
  standard: [
    'id',
    'accountId',
    'referralCode',
    'email',
    'imageUrl',
    'firstName',
    'lastName',
    'locale',
    'countryCode',
    'firstSeenIP',
    'lastSeenIP',
    'dateCreated',
    'emailHash',
    'referralSource',
    'shareLinks',
    'programShareLinks',
    'cookieId',
    'referralCodes',
    'referredBy',
    'referredByCodes',
    'referable',
    'customFields',
    'segments',
    'paymentProviderId',
  ],
  extra: ['dateBlocked'],
} as const satisfies { readonly standard: readonly (keyof UserJson)[]; readonly extra: readonly 'dateBlocked'[] };

/** A full user, narrowed or widened to the selected members (see `fieldSelection`). */
export function selectedUserJson(
  facts: UserFacts,
  surroundings: UserSurroundings,
  selection: readonly string[],
): Readonly<Record<string, unknown>> {
  const all: Readonly<Record<string, unknown>> = { ...userJson(facts, surroundings), dateBlocked: facts.dateBlocked };
  return Object.fromEntries(Object.entries(all).filter(([name]) => selection.includes(name)));
}

/** What everybody may see of a user, found by a code. */
export function publicUserJson(facts: UserFacts, defaultProgramId: string) {
  return {
    id: facts.userId,
    accountId: facts.accountId,
    email: facts.email,
    firstName: facts.firstName,
    lastName: facts.lastName,
    referralCode: ownCode(facts, defaultProgramId),
    imageUrl: facts.imageUrl ?? '',
  };
}

/** The nine members of an entry of `/users`. */
export function userListItemJson(facts: UserFacts, defaultProgramId: string) {
  return { ...publicUserJson(facts, defaultProgramId), dateCreated: facts.dateCreated, emailHash: emailHash(facts.email) };
}

const ownCode = (facts: UserFacts, programId: string): string | null =>
  Object.hasOwn(facts.referralCodes, programId) ? (facts.referralCodes[programId] ?? null) : null;

/** MD5 in hex of the trimmed address in lower case: a convention that clients compute too (for avatars), and no protection. */
export const emailHash = (email: string | null): string | null =>
  email === null ? null : createHash('md5').update(email.trim().toLowerCase()).digest('hex');

/** Members of other types are null; percentages have the unit `%`. */
export function rewardJson(facts: RewardFacts) {
  return {
    id: facts.rewardId,
    type: facts.type,
    dateGiven: facts.dateGiven,
    dateExpires: facts.dateExpires,
    dateCancelled: facts.dateCancelled,
    dateScheduledFor: facts.dateScheduledFor,
    cancellable: facts.cancellable,
    rewardSource: facts.source,
    accountId: facts.accountId,
    userId: facts.userId,
    unit: facts.type === 'PCT_DISCOUNT' ? '%' : facts.unit,
    discountPercent: facts.discountPercent,
    name: facts.name,
    description: facts.description,
    assignedCredit: facts.assignedCredit,
    redeemedCredit: facts.redeemedCredit,
    redemptions: facts.redemptions === null ? null : facts.redemptions.map(redemptionJson),
    currency: facts.currency,
    amount: facts.amount,
    fuelTankCode: facts.fuelTankCode,
    // The input's spelling is another one.
    fueltankType: facts.fuelTankType,
  };
}

const redemptionJson = ({
  id,
  dateRedeemed,
  quantityRedeemed,
}: {
  readonly id: string;
  readonly dateRedeemed: number;
  readonly quantityRedeemed: number;
}) => ({
  id,
  dateRedeemed,
  quantityRedeemed,
});

export type RewardJson = ReturnType<typeof rewardJson>;

/** Members that belong to another type are null. What was assigned is what was redeemed and what is available now. */
export function balanceJson(facts: BalanceFacts) {
  const ofType = (type: RewardType, figure: number): number | null => (facts.type === type ? figure : null);
  return {
    type: facts.type,
    unit: facts.unit,
    count: ofType('CREDIT', facts.count),
    totalAssignedCredit: ofType('CREDIT', facts.totalRedeemedCredit + facts.totalAvailableCredit),
    totalRedeemedCredit: ofType('CREDIT', facts.totalRedeemedCredit),
    totalAvailableCredit: ofType('CREDIT', facts.totalAvailableCredit),
    totalPendingCredit: ofType('CREDIT', facts.totalPendingCredit),
    totalExpiredCredit: ofType('CREDIT', facts.totalExpiredCredit),
    totalCancelledCredit: ofType('CREDIT', facts.totalCancelledCredit),
    totalDiscountPercent: ofType('PCT_DISCOUNT', facts.totalDiscountPercent),
    referredDiscountPercent: ofType('PCT_DISCOUNT', facts.referredDiscountPercent),
    referrerDiscountPercent: ofType('PCT_DISCOUNT', facts.referrerDiscountPercent),
    totalFuelTankCodes: ofType('FUELTANK', facts.totalFuelTankCodes),
  };
}

/** A user as the other party of a referral may see it: without what tells more of a person than a name and a code. */
export function asOtherParty(user: UserJson): UserJson {
  return {
    ...user,
    email: null,
    emailHash: null,
    firstSeenIP: null,
    lastSeenIP: null,
    // Who knows it can write as that visitor.
    cookieId: null,
    paymentProviderId: null,
    customFields: {},
    segments: [],
  };
}

/** What belongs to a referral and is presented with it; null: deleted, or not granted. */
export interface ReferralSides {
  readonly referredUser: UserJson | null;
  readonly referrerUser: UserJson | null;
  readonly referredReward: RewardJson | null;
  readonly referrerReward: RewardJson | null;
}

export type ReferralJson = ReturnType<typeof referralJson>;

export function referralJson(facts: ReferralFacts, sides: ReferralSides) {
  return {
    id: facts.referralId,
    programId: facts.programId,
    referralCodeUsed: facts.referralCodeUsed,
    shareLinkUsed: facts.shareLinkUsed,
    referredUser: sides.referredUser,
    referrerUser: sides.referrerUser,
    referredReward: sides.referredReward,
    referrerReward: sides.referrerReward,
    moderationStatus: facts.referredStatus === 'PENDING' || facts.referrerStatus === 'PENDING' ? 'PENDING' : 'ACTIONED',
    referredModerationStatus: facts.referredStatus,
    referrerModerationStatus: facts.referrerStatus,
    fraudSignals: Object.fromEntries(Object.entries(facts.fraudSignals).map(([name, { message, score }]) => [name, { message, score }])),
    dateReferralStarted: facts.dateReferralStarted,
    dateReferralPaid: facts.dateReferralPaid,
    dateReferralEnded: facts.dateReferralEnded,
    dateModerated: facts.dateModerated,
  };
}

/** What the record of a person holds besides the user, and besides what may be any number: rewards, and referrals that the person made. */
export interface PersonalRecordParts {
  readonly referredByReferral: ReferralJson | null;
  readonly rewardBalances: readonly ReturnType<typeof balanceJson>[];
}

/** What is known of a person, but for rewards and referrals. Places are never looked up from addresses: those members are always null. */
export function personalRecordJson(facts: UserFacts, user: UserJson, parts: PersonalRecordParts) {
  return {
    id: user.id,
    accountId: user.accountId,
    firstName: user.firstName,
    lastName: user.lastName,
    lastInitial: initialOf(facts.lastName),
    referralCode: user.referralCode,
    imageUrl: user.imageUrl,
    email: user.email,
    cookieId: user.cookieId,
    paymentProviderId: user.paymentProviderId,
    locale: user.locale,
    countryCode: user.countryCode,
    referable: user.referable,
    customFields: user.customFields,
    firstSeenIP: user.firstSeenIP,
    lastSeenIP: user.lastSeenIP,
    firstSeenIPLocation: null,
    lastSeenIPLocation: null,
    firstSeenUserAgent: facts.firstSeenUserAgent,
    lastSeenUserAgent: facts.lastSeenUserAgent,
    dateCreated: user.dateCreated,
    emailHash: user.emailHash,
    referralSource: user.referralSource,
    shareLinks: user.shareLinks,
    referredByReferral: parts.referredByReferral,
    rewardBalances: parts.rewardBalances,
    segments: user.segments,
  };
}

/** A code and what its use would earn the referred side. */
export interface CodeDetails {
  readonly code: string;
  readonly dateCreated: number;
  readonly programId: string;
  readonly owner: Pick<UserFacts, 'firstName' | 'lastName'>;
  /** Null: the program gives none. */
  readonly reward: PromisedValue | null;
}

export function codeDetailsJson({ code, dateCreated, programId, owner, reward }: CodeDetails) {
  return { code, dateCreated, referrerName: shortName(owner), programId, reward: reward === null ? null : prospectJson(reward) };
}

/** The route is public: a first name and an initial are enough to recognise a friend. */
function shortName({ firstName, lastName }: Pick<UserFacts, 'firstName' | 'lastName'>): string | null {
  return [(firstName ?? '').trim(), initialOf(lastName) ?? ''].filter((part) => part !== '').join(' ') || null;
}

/** By characters, not by halves of one. */
const initialOf = (lastName: string | null): string | null => [...(lastName ?? '').trim()][0] ?? null;

function prospectJson(value: PromisedValue) {
  switch (value.type) {
    case 'CREDIT':
      return { type: value.type, unit: value.unit, credit: value.assignedCredit };
    case 'PCT_DISCOUNT':
      return {
        type: value.type,
        unit: '%',
        discountPercent: value.discountPercent,
        ...(value.monthsDiscountIsValid === null ? {} : { monthsDiscountIsValid: value.monthsDiscountIsValid }),
      };
    case 'FUELTANK':
      // The code itself is handed out with the reward, not before.
      return { type: value.type, unit: value.unit };
  }
}

/** The answer to a redemption: `creditRedeemed` is of this call, `creditAvailable` what is left of the reward (in bulk: of the unit). */
export function redemptionResultJson(result: { readonly creditRedeemed: number; readonly creditAvailable: number; readonly unit: string }) {
  return { creditRedeemed: result.creditRedeemed, creditAvailable: result.creditAvailable, unit: result.unit };
}
