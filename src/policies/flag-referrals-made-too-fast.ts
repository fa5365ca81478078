import type { Policy } from '../reacting/policy.js';

/** Flags the earlier referrals of an exceeded rate limit. Side statuses stay. */
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
