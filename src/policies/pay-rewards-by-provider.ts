import type { LedgerEvent } from '../projecting/projector.js';
import type { DomainEvent } from '../domain/events.js';
import type { Policy, Reaction } from '../reacting/policy.js';

/**
 * Queues an account for its payment provider when it gets a reward that the provider pays, when it
 * gets a customer, and when the customer changes. The account decides what is due.
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

/** Such an event is alone in its stream. */
const isOfNoCustomer = (fact: { readonly kind: string; readonly because?: string }): boolean =>
  fact.kind === 'IGNORED' && fact.because !== 'STATUS';
