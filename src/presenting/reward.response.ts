import type { RewardSource } from '../domain/account/account.events.js';
import type { RewardRead } from '../../projections/rewards/queries.js';
import type { BalanceFacts, RedemptionFacts } from '../domain/account/account.facts.js';
import { REWARD_TYPES, type RewardType } from '../domain/program.js';
import {
  answerOf,
  answers,
  described,
  flag,
  integer,
  oneOf,
  optional,
  orNull,
  text,
  textUntilForgotten,
  time,
} from './answer-members.js';

class RedemptionResponse extends answerOf({
  id: text,
  dateRedeemed: time,
  quantityRedeemed: integer,
  externalReference: optional(described<string>({ type: String })),
}) {}

/** Members about the user of a reward: see `personal-fields.ts`. */
export const PERSONAL_MEMBERS_OF_REWARD = [
  'userId',
  'name',
  'description',
  'fuelTankCode',
] as const satisfies readonly (keyof RewardResponse)[];

const REWARD = {
  id: text,
  type: oneOf(REWARD_TYPES),
  dateGiven: time,
  dateExpires: orNull(time),
  dateCancelled: orNull(time),
  dateScheduledFor: orNull(time),
  cancellable: flag,
  rewardSource: oneOf<RewardSource>(['FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'EVENT']),
  accountId: text,
  userId: text,
  unit: orNull(text),
  discountPercent: orNull(integer),
  name: orNull(text),
  description: orNull(text),
  assignedCredit: orNull(integer),
  redeemedCredit: orNull(integer),
  redemptions: orNull(answers(RedemptionResponse)),
  currency: orNull(text),
  amount: orNull(integer),
  fuelTankCode: orNull(text),
  fueltankType: described<string | null>({
    enum: ['PCT_DISCOUNT', 'CREDIT', null],
    type: String,
    nullable: true,
  }),
};

/** Members of other types are null. */
export class RewardResponse extends answerOf(REWARD) {}

export class WrittenRewardResponse extends answerOf({
  ...REWARD,
  accountId: textUntilForgotten,
  userId: textUntilForgotten,
}) {}

/** Members of other types are null. */
export class RewardBalanceResponse extends answerOf({
  type: oneOf(REWARD_TYPES),
  unit: orNull(text),
  count: orNull(integer),
  totalAssignedCredit: orNull(integer),
  totalRedeemedCredit: orNull(integer),
  totalAvailableCredit: orNull(integer),
  totalPendingCredit: orNull(integer),
  totalExpiredCredit: orNull(integer),
  totalCancelledCredit: orNull(integer),
  totalDiscountPercent: orNull(integer),
  referredDiscountPercent: orNull(integer),
  referrerDiscountPercent: orNull(integer),
  totalFuelTankCodes: orNull(integer),
}) {}

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
    // Requests use another spelling.
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

/** Members of other types are null. `assigned` is the sum of redeemed and available. */
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
