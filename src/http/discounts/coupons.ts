import type { CodeOwners } from '../../command-handling/needs/code-owners.js';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import { reasonAgainstAccount } from '../../domain/account/referral/referral.js';
import { NOTHING_PROVIDED } from '../../domain/need.js';
import type { Program } from '../../domain/program.js';
import { REFERRAL_CODE } from '../../domain/referral-code.js';
import type { AccountRef } from '../../domain/scope.js';
import { programOf } from '../../domain/tenant/program-document.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { Call } from '../credentials/call.js';
import { nameOfOwner } from '../referral-codes/code-details.response.js';
import type { CouponFacts } from './discount.response.js';

/** Codes as coupons of accounts before their referral starts. */
export class Coupons {
  constructor(
    private readonly streams: Pick<ReadableStreams, 'accounts'>,
    private readonly owners: CodeOwners,
    private readonly names: KeyedNames,
  ) {}

  /**
   * The discount of the code that referred the account, until its first user; otherwise the one
   * that the coupon would give. Undefined: the coupon would be refused or have no effect.
   * @param couponCode as sent.
   */
  async find(
    { scope, tenant }: Pick<Call, 'scope' | 'tenant'>,
    account: AccountRef,
    couponCode: string | undefined,
  ): Promise<CouponFacts | undefined> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    if (state.status === 'absent') return undefined;
    const isWaiting = state.users.size === 0 && state.referral === null;
    const waiting = isWaiting ? state.attribution : null;
    const code = waiting === null ? couponCode : waiting.code;
    if (code === undefined || code === null || !REFERRAL_CODE.test(code)) return undefined;
    const owner = await this.owners.find(scope, code);
    if (!owner || owner.referrer.blocked) return undefined;
    const now = ledgerTime(tenant, scope.mode);
    const attributing = { now, account, referralId: '', provided: NOTHING_PROVIDED };
    if (waiting === null && reasonAgainstAccount(state, owner, attributing) !== undefined)
      return undefined;
    const program = programOf(tenant, owner.programId);
    return {
      percent: program === null ? 0 : percentAtStart(program),
      referrerName: nameOfOwner(owner.referrer.likeness),
    };
  }
}

function percentAtStart({ referredReward: terms, moderation }: Program): number {
  const isAtOnce = terms?.when === 'STARTED' && terms.delayDays === 0;
  if (!isAtOnce || moderation.referred !== 'APPROVED') return 0;
  return terms.value.type === 'PCT_DISCOUNT' ? terms.value.discountPercent : 0;
}
