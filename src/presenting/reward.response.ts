import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import type { RewardSource } from '../domain/account/account.events.js';
import type { RewardRead } from '../../projections/rewards/queries.js';
import type { BalanceFacts, RedemptionFacts } from '../domain/account/account.facts.js';
import { REWARD_TYPES, type RewardType } from '../domain/program.js';
import {
  Integer,
  IntegerOrNull,
  Text,
  TextOrNull,
  TextUntilForgotten,
  Time,
  TimeOrNull,
} from './answer-members.js';

class RedemptionResponse {
  @Text()
  id: string;

  @Time()
  dateRedeemed: number;

  @Integer()
  quantityRedeemed: number;

  @ApiPropertyOptional({ type: String })
  externalReference?: string;
}

/** Members of a reward's answer that are about its user: see `personal-fields.ts`. */
export const PERSONAL_MEMBERS_OF_REWARD = [
  'userId',
  'name',
  'description',
  'fuelTankCode',
] as const satisfies readonly (keyof RewardResponse)[];

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

  @TimeOrNull()
  dateScheduledFor: number | null;

  @ApiProperty({ type: Boolean })
  cancellable: boolean;

  @ApiProperty({ enum: ['FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'EVENT'] })
  rewardSource: RewardSource;

  @Text()
  accountId: string;

  @Text()
  userId: string;

  @TextOrNull()
  unit: string | null;

  @IntegerOrNull()
  discountPercent: number | null;

  @TextOrNull()
  name: string | null;

  @TextOrNull()
  description: string | null;

  @IntegerOrNull()
  assignedCredit: number | null;

  @IntegerOrNull()
  redeemedCredit: number | null;

  @ApiProperty({ type: [RedemptionResponse], nullable: true })
  redemptions: readonly RedemptionResponse[] | null;

  @TextOrNull()
  currency: string | null;

  @IntegerOrNull()
  amount: number | null;

  @TextOrNull()
  fuelTankCode: string | null;

  @ApiProperty({
    enum: ['PCT_DISCOUNT', 'CREDIT', null],
    type: String,
    nullable: true,
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

  @TextOrNull()
  unit: string | null;

  @IntegerOrNull()
  count: number | null;

  @IntegerOrNull()
  totalAssignedCredit: number | null;

  @IntegerOrNull()
  totalRedeemedCredit: number | null;

  @IntegerOrNull()
  totalAvailableCredit: number | null;

  @IntegerOrNull()
  totalPendingCredit: number | null;

  @IntegerOrNull()
  totalExpiredCredit: number | null;

  @IntegerOrNull()
  totalCancelledCredit: number | null;

  @IntegerOrNull()
  totalDiscountPercent: number | null;

  @IntegerOrNull()
  referredDiscountPercent: number | null;

  @IntegerOrNull()
  referrerDiscountPercent: number | null;

  @IntegerOrNull()
  totalFuelTankCodes: number | null;
}

/** Members of other types are null; percentages have the unit `%`. */
export function rewardJson(reward: RewardRead): RewardResponse {
  return {
    id: reward.reward_id,
    type: reward.type,
    dateGiven: reward.date_given,
    dateExpires: reward.date_expires,
    dateCancelled: reward.date_cancelled,
    dateScheduledFor: reward.date_scheduled_for,
    cancellable: reward.cancellable,
    rewardSource: reward.source,
    accountId: reward.account_id,
    userId: reward.user_id,
    unit: reward.type === 'PCT_DISCOUNT' ? '%' : reward.unit,
    discountPercent: reward.discount_percent,
    name: reward.name,
    description: reward.description,
    assignedCredit: reward.assigned_credit,
    redeemedCredit: reward.redeemed_credit,
    redemptions: reward.redemptions === null ? null : reward.redemptions.map(redemptionJson),
    currency: reward.currency,
    amount: reward.amount,
    fuelTankCode: reward.fuel_tank_code,
    // The request spells it differently.
    fueltankType: reward.fuel_tank_type,
  };
}

const redemptionJson = ({
  id,
  dateRedeemed,
  quantityRedeemed,
  externalReference,
}: RedemptionFacts): RedemptionResponse => ({
  id,
  dateRedeemed,
  quantityRedeemed,
  ...(externalReference === undefined ? {} : { externalReference }),
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
