import type { BalanceFacts } from '../../domain/account/account.facts.js';
import type { CodeDetailsResponse } from '../referral-codes/code-details.response.js';
import { answerOf, integer, shortName, text, time } from '../../presenting/answer-members.js';

export class DiscountOfCodeResponse extends answerOf({
  couponCode: text,
  referrerName: shortName,
  discountPercentage: integer,
  dateCreated: time,
}) {}

export class DiscountOfAccountResponse extends answerOf({
  accountId: text,
  discountPercentage: integer,
  referredDiscountPercent: integer,
  referrerDiscountPercent: integer,
  referrerName: shortName,
}) {}

/** The discount of a code: immediately, or with the account's first user. */
export interface CouponFacts {
  /** 0 if the referred side's reward is not a percentage. */
  readonly percent: number;
  readonly referrerName: string | null;
}

export function discountOfCodeJson(details: CodeDetailsResponse): DiscountOfCodeResponse {
  return {
    couponCode: details.code,
    referrerName: details.referrerName,
    discountPercentage: details.reward?.discountPercent ?? 0,
    dateCreated: details.dateCreated,
  };
}

/** @param balances of the account. Rewards by hand and by events belong to no side. */
export function discountOfAccountJson(
  accountId: string,
  balances: readonly BalanceFacts[],
  referrerName: string | null,
  coupon: CouponFacts | undefined,
): DiscountOfAccountResponse {
  const total = (percentOf: (balance: BalanceFacts) => number): number =>
    balances.reduce((sum, balance) => sum + percentOf(balance), 0);
  const referred = total((balance) => balance.referredDiscountPercent) + (coupon?.percent ?? 0);
  const referrer = total((balance) => balance.referrerDiscountPercent);
  return {
    accountId,
    discountPercentage: referred + referrer,
    referredDiscountPercent: referred,
    referrerDiscountPercent: referrer,
    referrerName: coupon === undefined ? referrerName : coupon.referrerName,
  };
}
