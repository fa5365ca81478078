import type { Policy } from './policy.js';

/**
 * The command that redeemed from very many rewards writes down which; what it left at a crash is
 * written down by this reaction.
 */
export const listRedeemedRewards: Policy = {
  name: 'list-redeemed-rewards',
  handles: new Set(['AccountCreditRedeemed']),
  react: ({ event, accountRef: account }) =>
    event.type === 'AccountCreditRedeemed'
      ? [{ kind: 'command', account, request: { type: 'ListRedeemedRewards' } }]
      : [],
};
