import type { LedgerEvent } from '../projecting/projector.js';
import type { DomainEvent } from '../domain/events.js';
import type { Policy, Reaction } from '../reacting/policy.js';

/**
 * Asks for an account whenever the payment provider may have something to be paid with: a reward
 * that it pays, the account's customer, and what the provider says of the customer. What is due is
 * decided on the account itself.
 */
export const payRewardsByProvider: Policy = {
  name: 'pay-rewards-by-provider',
  handles: new Set([
    ...(['RewardGranted', 'RewardRestored'] as const),
    ...(['PaymentProviderIdSet', 'ProviderEventReceived'] as const),
  ]),
  react: (ledgerEvent) => {
    const { event, stream } = ledgerEvent;
    switch (event.type) {
      case 'RewardGranted':
        return event.payTo === undefined ? [] : [ofAccount(ledgerEvent, event.dateScheduledFor)];
      case 'RewardRestored':
        return event.rewardType === 'FUELTANK' ? [] : [ofAccount(ledgerEvent, null)];
      case 'PaymentProviderIdSet':
        return event.imported ? [] : [ofAccount(ledgerEvent, null)];
      case 'ProviderEventReceived':
        return isOfNoCustomer(event.fact)
          ? []
          : [{ kind: 'payment', of: { customer: stream }, dueAt: null }];
      default:
        return [];
    }
  },
};

const ofAccount = (
  { accountRef: account }: LedgerEvent<DomainEvent>,
  dueAt: number | null,
): Reaction => ({ kind: 'payment', of: { account }, dueAt });

/** It stands alone in a stream of its own. */
const isOfNoCustomer = (fact: { readonly kind: string; readonly because?: string }): boolean =>
  fact.kind === 'IGNORED' && fact.because !== 'STATUS';
