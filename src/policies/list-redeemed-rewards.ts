import type { Policy } from '../reacting/policy.js';

/** Lists the rewards of bulk redemptions that a crash left unlisted. */
export const listRedeemedRewards: Policy = {
  name: 'list-redeemed-rewards',
  handles: new Set(['AccountCreditRedeemed']),
  react: ({ event, accountRef: account }) =>
    event.type === 'AccountCreditRedeemed'
      ? [{ kind: 'command', account, request: { type: 'ListRedeemedRewards' } }]
      : [],
};
