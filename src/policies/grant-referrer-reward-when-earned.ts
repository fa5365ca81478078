import type { AccountEventOf } from '../domain/account/account.events.js';
import type { Policy, Reaction } from '../reacting/policy.js';

type Earning = AccountEventOf<'ReferralStarted' | 'ReferralConverted' | 'ReferralModerated'>;

/**
 * Sends the grant to the referrer's account whenever an event in the referred account approves the
 * referrer's side with an earned reward. The account grants it once, under the terms of the event.
 */
export const grantReferrerRewardWhenEarned: Policy = {
  name: 'grant-referrer-reward-when-earned',
  handles: new Set([
    'ReferralStarted',
    'ReferralConverted',
    'ReferralModerated',
    // Here, so that it never precedes the grant that it takes back.
    'ReferralRefunded',
  ]),
  react: ({ event }) => {
    switch (event.type) {
      case 'ReferralStarted':
      case 'ReferralConverted':
      case 'ReferralModerated':
        return grant(event);
      case 'ReferralRefunded': {
        const { referralId, referrer } = event;
        const request = { type: 'CancelRefundedRewards', referralId } as const;
        return [{ kind: 'command', account: referrer.account, request }];
      }
      default:
        return [];
    }
  },
};

function grant({
  referralId,
  referrer,
  referrerStatus,
  referrerReward,
  programId,
  programVersion,
  at,
}: Earning): Reaction[] {
  if (referrerStatus !== 'APPROVED' || referrerReward === null) return [];
  const terms = { terms: referrerReward, programId, programVersion, earnedAt: at };
  return [
    {
      kind: 'command',
      account: referrer.account,
      request: { type: 'GrantReferrerReward', referralId, person: referrer.person, ...terms },
    },
  ];
}
