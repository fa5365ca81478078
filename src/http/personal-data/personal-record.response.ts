import { ApiProperty, PickType } from '@nestjs/swagger';
import type { UserFacts } from '../../domain/account/account.facts.js';
import { ReferralResponse } from '../../presenting/referral.response.js';
import { RewardBalanceResponse, RewardResponse } from '../../presenting/reward.response.js';
import { Integer, TextOrNull } from '../../presenting/answer-members.js';
import { initialOf, UserResponse } from '../../presenting/user.response.js';

class LocationResponse {
  @ApiProperty({ type: Number })
  lat: number;

  @ApiProperty({ type: Number })
  lon: number;
}

class RewardsOfPersonResponse {
  @Integer()
  totalCount: number;

  @ApiProperty({ type: [RewardResponse] })
  data: readonly RewardResponse[];
}

class ReferralsOfPersonResponse {
  @Integer()
  totalCount: number;

  @ApiProperty({ type: [ReferralResponse] })
  data: readonly ReferralResponse[];
}

const OF_USER = [
  ...([
    'id',
    'accountId',
    'firstName',
    'lastName',
    'referralCode',
    'imageUrl',
    'email',
    'cookieId',
    'paymentProviderId',
  ] as const),
  ...([
    'locale',
    'countryCode',
    'referable',
    'customFields',
    'firstSeenIP',
    'lastSeenIP',
    'dateCreated',
    'emailHash',
  ] as const),
  ...(['referralSource', 'shareLinks', 'segments'] as const),
] as const;

export class PersonalRecordResponse extends PickType(UserResponse, OF_USER) {
  @TextOrNull()
  lastInitial: string | null;

  @ApiProperty({ type: LocationResponse, nullable: true })
  firstSeenIPLocation: LocationResponse | null;

  @ApiProperty({ type: LocationResponse, nullable: true })
  lastSeenIPLocation: LocationResponse | null;

  @TextOrNull()
  firstSeenUserAgent: string | null;

  @TextOrNull()
  lastSeenUserAgent: string | null;

  @ApiProperty({ type: ReferralResponse, nullable: true })
  referredByReferral: ReferralResponse | null;

  @ApiProperty({ type: RewardsOfPersonResponse })
  rewards: RewardsOfPersonResponse;

  @ApiProperty({ type: [RewardBalanceResponse] })
  rewardBalances: readonly RewardBalanceResponse[];

  @ApiProperty({ type: ReferralsOfPersonResponse })
  referrals: ReferralsOfPersonResponse;
}

/**
 * A person's record without the user, rewards and started referrals, of which there may be any
 * number.
 */
export interface PersonalRecordParts {
  readonly referredByReferral: ReferralResponse | null;
  readonly rewardBalances: readonly RewardBalanceResponse[];
}

/**
 * A person's record without rewards and referrals. Addresses are never geolocated: those members
 * are always null.
 */
export function personalRecordJson(
  facts: UserFacts,
  user: UserResponse,
  parts: PersonalRecordParts,
): Omit<PersonalRecordResponse, 'rewards' | 'referrals'> {
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
