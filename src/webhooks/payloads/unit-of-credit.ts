import type { AccountEvent } from '../../domain/account/account.events.js';

/** The unit of credit that an event changes, as granted; undefined: it changes none. */
export function unitOfCredit(event: AccountEvent): string | undefined {
  switch (event.type) {
    case 'RewardGranted':
      return event.value.type === 'CREDIT' ? event.value.unit : undefined;
    case 'RewardBecameAvailable':
    case 'RewardExpired':
    case 'RewardCancelled':
    case 'RewardRestored':
    case 'CreditRedeemed':
      return event.rewardType === 'CREDIT' ? (event.unit ?? undefined) : undefined;
    case 'AccountCreditRedeemed':
    case 'RedeemedRewardsListed':
      return event.unit;
    default:
      return undefined;
  }
}
