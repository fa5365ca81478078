import { ApiProperty } from '@nestjs/swagger';
import { RewardResponse } from '../rewards/reward.response.js';
import { Integer, Text, TextOrNull, Time, TimeOrNull } from '../shapes/shape.js';
import { UserResponse } from '../users/user.response.js';

const SIDE_STATUSES = ['PENDING', 'APPROVED', 'DENIED'] as const;

export class ReferralResponse {
  @Text()
  id: string;

  @Text()
  programId: string;

  @TextOrNull({ description: 'Null once its owner is forgotten' })
  referralCodeUsed: string | null;

  @TextOrNull({ description: 'Null: no call says by which link somebody came, and visits of links are not tied to visitors' })
  shareLinkUsed: string | null;

  @ApiProperty({ type: UserResponse, nullable: true, description: 'Null once deleted' })
  referredUser: UserResponse | null;

  @ApiProperty({ type: UserResponse, nullable: true, description: 'Null once deleted' })
  referrerUser: UserResponse | null;

  @ApiProperty({ type: RewardResponse, nullable: true })
  referredReward: RewardResponse | null;

  @ApiProperty({ type: RewardResponse, nullable: true })
  referrerReward: RewardResponse | null;

  @ApiProperty({ enum: ['PENDING', 'ACTIONED'], description: 'PENDING while a side is' })
  moderationStatus: string;

  @ApiProperty({ enum: SIDE_STATUSES })
  referredModerationStatus: string;

  @ApiProperty({ enum: SIDE_STATUSES })
  referrerModerationStatus: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: { message: { type: 'string' }, score: { type: 'number' } },
      required: ['message', 'score'],
    },
  })
  fraudSignals: Readonly<Record<string, { message: string; score: number }>>;

  @Time()
  dateReferralStarted: number;

  @TimeOrNull('The moment of conversion')
  dateReferralPaid: number | null;

  @TimeOrNull()
  dateReferralEnded: number | null;

  @Time('The last moderation; the start until there was one')
  dateModerated: number;
}

export class ReferralListResponse {
  @Integer({ description: 'Of this page' })
  count: number;

  @Integer()
  totalCount: number;

  @ApiProperty({ type: [ReferralResponse] })
  referrals: ReferralResponse[];
}
