import { ApiProperty, PickType } from '@nestjs/swagger';
import { ReferralResponse } from '../referrals/referral.response.js';
import { RewardBalanceResponse, RewardResponse } from '../rewards/reward.response.js';
import { Integer, TextOrNull } from '../shapes/shape.js';
import { UserResponse } from '../users/user.response.js';

class LocationResponse {
  @ApiProperty({ type: Number })
  lat: number;

  @ApiProperty({ type: Number })
  lon: number;
}

class RewardsOfPersonResponse {
  @Integer()
  totalCount: number;

  @ApiProperty({ type: [RewardResponse], description: 'All of them, newest first' })
  data: RewardResponse[];
}

class ReferralsOfPersonResponse {
  @Integer()
  totalCount: number;

  @ApiProperty({ type: [ReferralResponse], description: 'All that the person made, newest first' })
  data: ReferralResponse[];
}

const OF_USER = [
  ...(['id', 'accountId', 'firstName', 'lastName', 'referralCode', 'imageUrl', 'email', 'cookieId', 'paymentProviderId'] as const),
  ...(['locale', 'countryCode', 'referable', 'customFields', 'firstSeenIP', 'lastSeenIP', 'dateCreated', 'emailHash'] as const),
  ...(['referralSource', 'shareLinks', 'segments'] as const),
] as const;

export class PersonalRecordResponse extends PickType(UserResponse, OF_USER) {
  @TextOrNull()
  lastInitial: string | null;

  @ApiProperty({ type: LocationResponse, nullable: true, description: 'Null: addresses are not looked up' })
  firstSeenIPLocation: LocationResponse | null;

  @ApiProperty({ type: LocationResponse, nullable: true, description: 'Null: addresses are not looked up' })
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
  rewardBalances: RewardBalanceResponse[];

  @ApiProperty({ type: ReferralsOfPersonResponse })
  referrals: ReferralsOfPersonResponse;
}
