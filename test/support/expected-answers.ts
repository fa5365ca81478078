import { createHash } from 'node:crypto';
import type { Json } from './api-client.js';

/** Answers of the interface, member by member; members that a test omits are empty. */

/** Epoch milliseconds of about now. */
export const aTime = expect.any(Number) as unknown as number;
export const anId = expect.stringMatching(/^[0-9a-f-]{36,64}$/) as unknown as string;

export interface ShownExport extends Json {
  readonly id: string;
  readonly status: string;
  readonly stats: Readonly<Record<string, unknown>> | null;
}

interface UserOf {
  readonly tenant: string;
  readonly mode?: 'live' | 'test';
  readonly id: string;
  readonly accountId: string;
  /** In the default program. */
  readonly code: string;
  readonly email?: string | null;
}

/** A full user of a tenant with the one program `default`. */
export function expectedUser(
  { tenant, mode = 'live', id, accountId, code, email = null }: UserOf,
  more: Json = {},
): Json {
  return {
    id,
    accountId,
    email,
    emailHash: email === null ? null : md5(email),
    referralCode: code,
    referralCodes: { default: code },
    firstName: null,
    lastName: null,
    imageUrl: '',
    locale: null,
    countryCode: null,
    firstSeenIP: null,
    lastSeenIP: null,
    referralSource: null,
    cookieId: null,
    paymentProviderId: null,
    referable: true,
    customFields: {},
    segments: [],
    referredBy: null,
    referredByCodes: [],
    dateCreated: aTime,
    shareLinks: expectedShareLinks(tenant, mode, code),
    programShareLinks: {
      default: {
        cleanShareLink: link(tenant, mode, code),
        MOBILE: { DIRECT: link(tenant, mode, code, 'DIRECT', 'MOBILE') },
        EMAIL: { DIRECT: link(tenant, mode, code, 'DIRECT', 'EMAIL') },
        UNKNOWN: { DIRECT: link(tenant, mode, code, 'DIRECT', 'UNKNOWN') },
      },
    },
    ...more,
  };
}

function expectedShareLinks(tenant: string, mode: string, code: string): Json {
  const five = (engagement: string) => ({
    shareLink: link(tenant, mode, code, 'DIRECT', engagement),
    facebookShareLink: link(tenant, mode, code, 'FACEBOOK', engagement),
    twitterShareLink: link(tenant, mode, code, 'TWITTER', engagement),
    emailShareLink: link(tenant, mode, code, 'EMAIL', engagement),
    linkedinShareLink: link(tenant, mode, code, 'LINKEDIN', engagement),
  });
  const mobile = five('MOBILE');
  return {
    ...five('UNKNOWN'),
    mobileShareLink: mobile.shareLink,
    mobileFacebookShareLink: mobile.facebookShareLink,
    mobileTwitterShareLink: mobile.twitterShareLink,
    mobileEmailShareLink: mobile.emailShareLink,
    EMBED: five('EMBED'),
    POPUP: five('POPUP'),
    HOSTED: five('HOSTED'),
    MOBILE: mobile,
    EMAIL: five('EMAIL'),
  };
}

function link(
  tenant: string,
  mode: string,
  code: string,
  share?: string,
  engagement?: string,
): string {
  const clean = `https://share.example/s/${tenant}/${mode === 'test' ? 'test/' : ''}${code}`;
  return share === undefined ? clean : `${clean}?m=${share}&e=${engagement}`;
}

const md5 = (email: string): string =>
  createHash('md5').update(email.trim().toLowerCase()).digest('hex');

const NO_REWARD = {
  id: anId,
  dateGiven: aTime,
  dateExpires: null,
  dateCancelled: null,
  dateScheduledFor: null,
  cancellable: true,
  rewardSource: 'MANUAL',
  unit: null,
  name: null,
  description: null,
  currency: null,
  discountPercent: null,
  assignedCredit: null,
  redeemedCredit: null,
  redemptions: null,
  amount: null,
  fuelTankCode: null,
  fueltankType: null,
};

export const expectedReward = (members: Json): Json => ({ ...NO_REWARD, ...members });

const NO_FIGURES = {
  unit: null,
  count: null,
  totalAssignedCredit: null,
  totalRedeemedCredit: null,
  totalAvailableCredit: null,
  totalPendingCredit: null,
  totalExpiredCredit: null,
  totalCancelledCredit: null,
  totalDiscountPercent: null,
  referredDiscountPercent: null,
  referrerDiscountPercent: null,
  totalFuelTankCodes: null,
};

export const expectedBalance = (members: Json): Json => ({ ...NO_FIGURES, ...members });

/** Of one unit. What is assigned is what was redeemed and what may be spent now. */
export const creditBalance = (unit: string, count: number, available: number, redeemed = 0): Json =>
  expectedBalance({
    type: 'CREDIT',
    unit,
    count,
    totalAssignedCredit: redeemed + available,
    totalRedeemedCredit: redeemed,
    totalAvailableCredit: available,
    totalPendingCredit: 0,
    totalExpiredCredit: 0,
    totalCancelledCredit: 0,
  });

/** A referral under the default program, with both sides approved. */
export const expectedReferral = (code: string, more: Json): Json => ({
  id: anId,
  programId: 'default',
  referralCodeUsed: code,
  shareLinkUsed: null,
  fraudSignals: {},
  referredReward: null,
  referrerReward: null,
  moderationStatus: 'ACTIONED',
  referredModerationStatus: 'APPROVED',
  referrerModerationStatus: 'APPROVED',
  dateReferralStarted: aTime,
  dateReferralPaid: null,
  dateReferralEnded: null,
  dateModerated: aTime,
  ...more,
});
