import { ApiProperty, OmitType } from '@nestjs/swagger';
import type { RewardSource } from '../../domain/account/account.events.js';
import type { BalanceFacts, RewardFacts } from '../../domain/account/account.facts.js';
import { REWARD_TYPES, type RewardType } from '../../domain/program.js';
import {
  Integer,
  IntegerOrNull,
  Text,
  TextOrNull,
  TextUntilForgotten,
  Time,
  TimeOrNull,
} from '../shapes/answer-members.js';

class RedemptionResponse {
  @Text()
  id: string;

  @Time()
  dateRedeemed: number;

  @Integer()
  quantityRedeemed: number;
}

/** Members of other types are null. */
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
  rewardSource: RewardSource;

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
  redemptions: readonly RedemptionResponse[] | null;

  @TextOrNull()
  currency: string | null;

  @IntegerOrNull({ description: 'FUELTANK' })
  amount: number | null;

  @TextOrNull({ description: 'FUELTANK' })
  fuelTankCode: string | null;

  @ApiProperty({
    enum: ['PCT_DISCOUNT', 'CREDIT', null],
    type: String,
    nullable: true,
    description: 'FUELTANK',
  })
  fueltankType: string | null;
}

export class WrittenRewardResponse extends OmitType(RewardResponse, ['accountId', 'userId']) {
  @TextUntilForgotten()
  accountId: string | null;

  @TextUntilForgotten()
  userId: string | null;
}

/** Members of other types are null. */
export class RewardBalanceResponse {
  @ApiProperty({ enum: REWARD_TYPES })
  type: RewardType;

  @TextOrNull({ description: 'In its first spelling; `%` for percentages' })
  unit: string | null;

  @IntegerOrNull({ description: 'CREDIT; number of contributing rewards' })
  count: number | null;

  @IntegerOrNull({ description: 'CREDIT; redeemed plus available' })
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

/** Members of other types are null; percentages have the unit `%`. */
export function rewardJson(facts: RewardFacts): RewardResponse {
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
    // The request spells it differently.
    fueltankType: facts.fuelTankType,
  };
}

type Redemption = NonNullable<RewardFacts['redemptions']>[number];

const redemptionJson = ({
  id,
  dateRedeemed,
  quantityRedeemed,
}: Redemption): RedemptionResponse => ({
  id,
  dateRedeemed,
  quantityRedeemed,
});

/**
 * Members of other types are null. `assigned` is the sum of the redeemed and the available amount.
 */
export function balanceJson(facts: BalanceFacts): RewardBalanceResponse {
  const ofType = (type: RewardType, figure: number): number | null =>
    facts.type === type ? figure : null;
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
