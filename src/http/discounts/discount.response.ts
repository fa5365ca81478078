import type { BalanceFacts } from '../../domain/account/account.facts.js';
import type { CodeDetailsResponse } from '../referral-codes/code-details.response.js';
import { Integer, Text, TextOrNull, Time } from '../../presenting/answer-members.js';

export class DiscountOfCodeResponse {
  @Text()
  couponCode: string;

  @TextOrNull({ example: 'Ann L' })
  referrerName: string | null;

  @Integer()
  discountPercentage: number;

  @Time()
  dateCreated: number;
}

export class DiscountOfAccountResponse {
  @Text()
  accountId: string;

  @Integer()
  discountPercentage: number;

  @Integer()
  referredDiscountPercent: number;

  @Integer()
  referrerDiscountPercent: number;

  @TextOrNull({ example: 'Ann L' })
  referrerName: string | null;
}

/** What a code adds to an account: at once, or with its first user. */
export interface CouponFacts {
  /** 0 where the reward of the referred side is no percentage. */
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

/**
 * @param balances of the account: the same sums as in its reward balances. Rewards by hand and by
 * events are of no side.
 */
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
