import type { AccountQueries } from '../../../projections/accounts/queries.js';
import type { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import type { RewardBalanceQueries } from '../../../projections/reward-balances/queries.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import type { Call } from '../credentials/call.js';
import { nameOfOwner } from '../referral-codes/code-details.response.js';
import type { Coupons } from './coupons.js';
import { discountOfAccountJson, type DiscountOfAccountResponse } from './discount.response.js';

/**
 * Discounts of accounts, from the read models of referrals and rewards; before an account's first
 * user, from the terms of its referral.
 */
export class AccountDiscounts {
  constructor(
    private readonly accounts: AccountQueries,
    private readonly balances: RewardBalanceQueries,
    private readonly codes: ReferralCodeQueries,
    private readonly coupons: Coupons,
  ) {}

  /** @param couponCode as sent. @returns undefined for an unknown account. */
  async find(
    call: Pick<Call, 'scope' | 'tenant'>,
    accountRef: AccountRef,
    couponCode: string | undefined,
  ): Promise<DiscountOfAccountResponse | undefined> {
    const { scope, tenant } = call;
    const account = await this.accounts.byRef(scope, accountRef);
    if (!account) return undefined;
    const now = ledgerTime(tenant, scope.mode);
    const [balances, referrerName] = await Promise.all([
      this.balances.list(scope, { accountRef, type: 'PCT_DISCOUNT', now }),
      this.nameOf(scope, account.referralCode),
    ]);
    const mayWait = account.referralCode !== null && balances.length === 0;
    const coupon =
      mayWait || couponCode !== undefined
        ? await this.coupons.find(call, accountRef, couponCode)
        : undefined;
    return discountOfAccountJson(account.accountId, balances, referrerName, coupon);
  }

  private async nameOf(scope: Scope, code: string | null): Promise<string | null> {
    const owner = code === null ? undefined : await this.codes.byCode(scope, code);
    return owner === undefined
      ? null
      : nameOfOwner({ firstName: owner.ownerFirstName, lastName: owner.ownerLastName });
  }
}
