import type { Policy } from '../reacting/policy.js';

/**
 * When a referral exceeds its referrer's rate limit, the earlier ones receive the signal, too.
 * Their sides keep their statuses.
 */
export const flagReferralsMadeTooFast: Policy = {
  name: 'flag-referrals-made-too-fast',
  handles: new Set(['ReferralStarted']),
  react: ({ event }) => {
    if (event.type !== 'ReferralStarted') return [];
    return event.tooManyWith.map(({ referralId, account }) => ({
      kind: 'command',
      account,
      request: { type: 'FlagReferral', referralId },
    }));
  },
};
