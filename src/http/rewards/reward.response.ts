import { ApiProperty, OmitType } from '@nestjs/swagger';
import { REWARD_TYPES, type RewardType } from '../../domain/program.js';
import { Integer, IntegerOrNull, Text, TextOrNull, TextUntilForgotten, Time, TimeOrNull } from '../shapes/shape.js';

class RedemptionResponse {
  @Text()
  id: string;

  @Time()
  dateRedeemed: number;

  @Integer()
  quantityRedeemed: number;
}

/** Members of other types than the reward's own are null. */
export class RewardResponse {
  @Text()
  id: string;

  @ApiProperty({ enum: REWARD_TYPES })
  type: RewardType;

  @Time()
  dateGiven: number;

  @TimeOrNull()
  dateExpires: number | null;

  @TimeOrNull()
  dateCancelled: number | null;

  @TimeOrNull('When it becomes available; null: at once')
  dateScheduledFor: number | null;

  @ApiProperty({ type: Boolean })
  cancellable: boolean;

  @ApiProperty({ enum: ['FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'EVENT'] })
  rewardSource: string;

  @Text()
  accountId: string;

  @Text()
  userId: string;

  @TextOrNull({ description: '% for percentages' })
  unit: string | null;

  @IntegerOrNull({ description: 'PCT_DISCOUNT' })
  discountPercent: number | null;

  @TextOrNull()
  name: string | null;

  @TextOrNull()
  description: string | null;

  @IntegerOrNull({ description: 'CREDIT' })
  assignedCredit: number | null;

  @IntegerOrNull({ description: 'CREDIT' })
  redeemedCredit: number | null;

  @ApiProperty({ type: [RedemptionResponse], nullable: true, description: 'CREDIT' })
  redemptions: RedemptionResponse[] | null;

  @TextOrNull()
  currency: string | null;

  @IntegerOrNull({ description: 'FUELTANK' })
  amount: number | null;

  @TextOrNull({ description: 'FUELTANK' })
  fuelTankCode: string | null;

  @ApiProperty({ enum: ['PCT_DISCOUNT', 'CREDIT', null], type: String, nullable: true, description: 'FUELTANK' })
  fueltankType: string | null;
}

export class WrittenRewardResponse extends OmitType(RewardResponse, ['accountId', 'userId']) {
  @TextUntilForgotten()
  accountId: string | null;

  @TextUntilForgotten()
  userId: string | null;
}

/** Members that belong to another type are null. */
export class RewardBalanceResponse {
  @ApiProperty({ enum: REWARD_TYPES })
  type: RewardType;

  @TextOrNull({ description: 'In the first spelling that was used; `%` for percentages' })
  unit: string | null;

  @IntegerOrNull({ description: 'CREDIT; rewards that contribute' })
  count: number | null;

  @IntegerOrNull({ description: 'CREDIT; what was redeemed and what is available now' })
  totalAssignedCredit: number | null;

  @IntegerOrNull({ description: 'CREDIT' })
  totalRedeemedCredit: number | null;

  @IntegerOrNull({ description: 'CREDIT' })
  totalAvailableCredit: number | null;

  @IntegerOrNull({ description: 'CREDIT; scheduled for later' })
  totalPendingCredit: number | null;

  @IntegerOrNull({ description: 'CREDIT' })
  totalExpiredCredit: number | null;

  @IntegerOrNull({ description: 'CREDIT' })
  totalCancelledCredit: number | null;

  @IntegerOrNull({ description: 'PCT_DISCOUNT; of all available rewards' })
  totalDiscountPercent: number | null;

  @IntegerOrNull({ description: 'PCT_DISCOUNT; earned as the referred party' })
  referredDiscountPercent: number | null;

  @IntegerOrNull({ description: 'PCT_DISCOUNT; earned as the referrer' })
  referrerDiscountPercent: number | null;

  @IntegerOrNull({ description: 'FUELTANK; available rewards' })
  totalFuelTankCodes: number | null;
}

export class RedemptionResultResponse {
  @Integer({ description: 'By this call' })
  creditRedeemed: number;

  @Integer({ description: 'What is left: of the reward, or in bulk of the unit' })
  creditAvailable: number;

  @Text()
  unit: string;
}
