import { ApiProperty } from '@nestjs/swagger';
import { REWARD_TYPES, type RewardType } from '../../domain/program.js';
import { Integer, IntegerOrNull, Text, TextOrNull, Time, TimeOrNull } from './shape.js';

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

export class CreditBalanceResponse {
  @ApiProperty({ enum: ['CREDIT'] })
  type: 'CREDIT';

  @Text({ description: 'In the first spelling that was used' })
  unit: string;

  @Integer({ description: 'Rewards that contribute' })
  count: number;

  @Integer({ description: 'What was redeemed and what is available now' })
  totalAssignedCredit: number;

  @Integer()
  totalRedeemedCredit: number;

  @Integer()
  totalAvailableCredit: number;

  @Integer({ description: 'Scheduled for later' })
  totalPendingCredit: number;

  @Integer()
  totalExpiredCredit: number;

  @Integer()
  totalCancelledCredit: number;
}

export class PercentBalanceResponse {
  @ApiProperty({ enum: ['PCT_DISCOUNT'] })
  type: 'PCT_DISCOUNT';

  @Integer()
  totalDiscountPercent: number;

  @Integer()
  referredDiscountPercent: number;

  @Integer()
  referrerDiscountPercent: number;
}

export class FuelTankBalanceResponse {
  @ApiProperty({ enum: ['FUELTANK'] })
  type: 'FUELTANK';

  @Integer()
  totalFuelTankCodes: number;
}

export class RedemptionResultResponse {
  @Integer({ description: 'By this call' })
  creditRedeemed: number;

  @Integer({ description: 'What is left: of the reward, or in bulk of the unit' })
  creditAvailable: number;

  @Text()
  unit: string;
}
