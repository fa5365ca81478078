import type { Policy } from '../reacting/policy.js';

/**
 * Grants the referrer, in its own account, the reward that an event of the referred user has
 * earned. The account grants it once.
 */
export const grantReferrerRewardEarnedByEvent: Policy = {
  name: 'grant-referrer-reward-earned-by-event',
  handles: new Set(['ReferrerRewardEarnedByEvent']),
  react: ({ event }) => {
    if (event.type !== 'ReferrerRewardEarnedByEvent') return [];
    const { referralId, userEventId, referrer, programId, programVersion, rule, terms, at } = event;
    const earned = {
      referralId,
      userEventId,
      programId,
      programVersion,
      rule,
      terms,
      earnedAt: at,
    };
    return [
      {
        kind: 'command',
        account: referrer.account,
        request: { type: 'GrantEventReward', person: referrer.person, ...earned },
      },
    ];
  },
};
