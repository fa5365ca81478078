import { ApiProperty } from '@nestjs/swagger';
import type { FraudSignal } from '../domain/account/account.events.js';
import type { ReferralFacts } from '../domain/account/account.facts.js';
import type { SideStatus } from '../domain/program.js';
import { RewardResponse } from './reward.response.js';
import { Integer, Text, TextOrNull, Time, TimeOrNull } from './answer-members.js';
import { UserResponse } from './user.response.js';

const SIDE_STATUSES = ['PENDING', 'APPROVED', 'DENIED'] as const;

export class ReferralResponse {
  @Text()
  id: string;

  @Text()
  programId: string;

  @TextOrNull()
  referralCodeUsed: string | null;

  @TextOrNull()
  shareLinkUsed: string | null;

  @ApiProperty({ type: UserResponse, nullable: true })
  referredUser: UserResponse | null;

  @ApiProperty({ type: UserResponse, nullable: true })
  referrerUser: UserResponse | null;

  @ApiProperty({ type: RewardResponse, nullable: true })
  referredReward: RewardResponse | null;

  @ApiProperty({ type: RewardResponse, nullable: true })
  referrerReward: RewardResponse | null;

  @ApiProperty({ enum: ['PENDING', 'ACTIONED'] })
  moderationStatus: 'PENDING' | 'ACTIONED';

  @ApiProperty({ enum: SIDE_STATUSES })
  referredModerationStatus: SideStatus;

  @ApiProperty({ enum: SIDE_STATUSES })
  referrerModerationStatus: SideStatus;

  @ApiProperty({
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: { message: { type: 'string' }, score: { type: 'number' } },
      required: ['message', 'score'],
    },
  })
  fraudSignals: Readonly<Record<string, FraudSignal>>;

  @Time()
  dateReferralStarted: number;

  @TimeOrNull()
  dateReferralPaid: number | null;

  @TimeOrNull()
  dateReferralEnded: number | null;

  @Time()
  dateModerated: number;
}

export class ReferralListResponse {
  @Integer()
  count: number;

  @Integer()
  totalCount: number;

  @ApiProperty({ type: [ReferralResponse] })
  referrals: readonly ReferralResponse[];
}

/** The people and rewards of a referral; null: deleted, or not granted. */
export interface ReferralSides {
  readonly referredUser: UserResponse | null;
  readonly referrerUser: UserResponse | null;
  readonly referredReward: RewardResponse | null;
  readonly referrerReward: RewardResponse | null;
}

export function referralJson(facts: ReferralFacts, sides: ReferralSides): ReferralResponse {
  return {
    id: facts.referralId,
    programId: facts.programId,
    referralCodeUsed: facts.referralCodeUsed,
    shareLinkUsed: facts.shareLinkUsed,
    referredUser: sides.referredUser,
    referrerUser: sides.referrerUser,
    referredReward: sides.referredReward,
    referrerReward: sides.referrerReward,
    moderationStatus:
      facts.referredStatus === 'PENDING' || facts.referrerStatus === 'PENDING'
        ? 'PENDING'
        : 'ACTIONED',
    referredModerationStatus: facts.referredStatus,
    referrerModerationStatus: facts.referrerStatus,
    fraudSignals: Object.fromEntries(
      Object.entries(facts.fraudSignals).map(([name, { message, score }]) => [
        name,
        { message, score },
      ]),
    ),
    dateReferralStarted: facts.dateReferralStarted,
    dateReferralPaid: facts.dateReferralPaid,
    dateReferralEnded: facts.dateReferralEnded,
    dateModerated: facts.dateModerated,
  };
}
