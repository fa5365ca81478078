import type { Policy } from './policy.js';

/**
 * A referral that makes its referrer's rate too high brings the signal upon the ones before it.
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
