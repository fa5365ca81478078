import type { CodeOwners } from '../../command-handling/needs/code-owners.js';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { TenantDirectory } from '../../command-handling/tenant-directory.js';
import { reasonAgainstAccount } from '../../domain/account/referral.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { programOf } from '../../domain/tenant/program-document.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { nameOfOwner } from '../referral-codes/code-details.response.js';
import { REFERRAL_CODE } from '../shapes/parameters.js';
import type { CouponFacts } from './discount.response.js';

/** Codes as coupons of accounts that are not referred yet. */
export class Coupons {
  constructor(
    private readonly streams: Pick<ReadableStreams, 'accounts'>,
    private readonly owners: CodeOwners,
    private readonly tenants: TenantDirectory,
    private readonly names: KeyedNames,
  ) {}

  /**
   * What the code promises the account, by the reasons of POST discount; undefined: it would be
   * refused, or have no effect.
   */
  async find(scope: Scope, account: AccountRef, code: string): Promise<CouponFacts | undefined> {
    if (!REFERRAL_CODE.test(code)) return undefined;
    const stream = this.names.accountStream(scope, account);
    const [{ state }, owner, tenant] = await Promise.all([
      this.streams.accounts.load(stream),
      this.owners.find(scope, code),
      this.tenants.find(scope.tenant),
    ]);
    if (state.status === 'absent' || !owner || !tenant || owner.user.dateBlocked !== null)
      return undefined;
    if (reasonAgainstAccount(state, owner, account) !== undefined) return undefined;
    const promised = programOf(tenant, owner.programId)?.referredReward?.value;
    const { firstName = null, lastName = null } = owner.user.profile ?? {};
    return {
      percent: promised?.type === 'PCT_DISCOUNT' ? promised.discountPercent : 0,
      referrerName: nameOfOwner({ firstName, lastName }),
    };
  }
}
