import { CONVERSION_RULE, REFERRER_RULE } from '../domain/program.js';
import type { Policy } from '../reacting/policy.js';

/** The referrer's account grants and takes back once. */
export const grantReferrerRewardEarnedByEvent: Policy = {
  name: 'grant-referrer-reward-earned-by-event',
  handles: new Set(['ReferrerRewardEarnedByEvent', 'EarningRefunded']),
  react: ({ event }) => {
    if (event.type !== 'ReferrerRewardEarnedByEvent' && event.type !== 'EarningRefunded') return [];
    const { referralId, userEventId, referrer, programId, programVersion, at } = event;
    if (referrer === null || referralId === null) return [];
    const { account, person } = referrer;
    const earned = { referralId, userEventId, person, programId, programVersion };
    if (event.type === 'EarningRefunded') {
      const rule = event.rule === CONVERSION_RULE ? REFERRER_RULE : event.rule;
      return [{ kind: 'command', account, request: { type: 'TakeBackReward', ...earned, rule } }];
    }
    const { rule, terms } = event;
    const request = { type: 'GrantEventReward', ...earned, rule, terms, earnedAt: at } as const;
    return [{ kind: 'command', account, request }];
  },
};
