import { personal, type SubjectId } from '../personal.js';
import type { Decision } from '../decision.js';
import type { AccountEvent, AccountEventOf, Subscription } from './account.events.js';
import { evolve, type AccountState, type OpenAccount } from './account.state.js';
import { Draft } from './draft.js';
import {
  attributeIfPossible,
  endReferral,
  startAndConvert,
  type ReferralContext,
} from './referral/referral.js';

export const DEFAULT_CURRENCY = 'USD';

/** POST accountsync: a code attributes, PAID converts, CANCELLED ends. */
export interface SyncAccount {
  readonly type: 'SyncAccount';
  readonly accountId: string;
  /** Key name for a new account. */
  readonly newAccount: SubjectId;
  readonly subscription: Subscription;
  /** ISO 4217; undefined: kept, or the default. */
  readonly currency: string | undefined;
  readonly context: ReferralContext;
}

export function syncAccount(state: AccountState, command: SyncAccount): Decision<AccountEvent> {
  const { now } = command.context;
  const opened =
    state.status === 'absent'
      ? [
          accountOpened(
            command.accountId,
            command.newAccount,
            command.currency ?? DEFAULT_CURRENCY,
            now,
          ),
        ]
      : [];
  const draft = new Draft(
    opened.reduce<AccountState>(evolve, state) as OpenAccount,
    command.context.provided,
  );
  draft.events.push(...opened);
  if (command.currency !== undefined && command.currency !== draft.state.currency) {
    draft.emit({ type: 'CurrencyChanged', at: now, currency: command.currency });
  }
  // Attributed first: a code together with the first PAID still counts.
  attributeIfPossible(draft, command.context);
  if (changesSubscription(draft.state, command.subscription)) {
    draft.emit({ type: 'SubscriptionChanged', at: now, subscription: command.subscription });
  }
  startAndConvert(draft, command.context);
  if (command.subscription.status === 'CANCELLED') endReferral(draft, now);
  return draft.decision();
}

export function accountOpened(
  accountId: string,
  account: SubjectId,
  currency: string,
  at: number,
): AccountEventOf<'AccountOpened'> {
  return { type: 'AccountOpened', at, account, accountId: personal(account, accountId), currency };
}

/** A PAID that is to convert an imported referral is recorded even if nothing else changes. */
export const changesSubscription = (
  { subscription, hasPaid }: OpenAccount,
  after: Subscription,
): boolean => !sameSubscription(subscription, after) || (after.status === 'PAID' && !hasPaid);

const sameSubscription = (a: Subscription | null, b: Subscription): boolean =>
  a !== null &&
  a.status === b.status &&
  a.value === b.value &&
  a.billingIntervalType === b.billingIntervalType &&
  a.billingIntervalValue === b.billingIntervalValue;
