import type { Projector } from '../../src/projecting/projector.js';
import { ERASURES } from '../erasures.js';
import { accounts } from './table.js';

/** Accounts as `GET /account/{accountId}` shows them. An account whose key is destroyed has no row. */
export const accountsProjector: Projector = {
  name: 'accounts',
  tables: [accounts],
  handles: new Set(['AccountOpened', 'SubscriptionChanged', 'CurrencyChanged', 'AccountAttributed', ...ERASURES]),

  keys: ({ accountRef }) => [accounts.key(accountRef)],

  apply({ event, accountRef, tenant, mode }, rows) {
    switch (event.type) {
      case 'AccountOpened':
        if (event.accountId.value === null) return;
        return accounts.put(rows, {
          account_ref: accountRef,
          tenant,
          mode,
          account_id: event.accountId.value,
          currency: event.currency,
          subscription: null,
          referral_code: null,
          referrer_person: null,
          date_opened: event.at,
        });
      case 'SubscriptionChanged':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, subscription: event.subscription }));
      case 'CurrencyChanged':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, currency: event.currency }));
      case 'AccountAttributed':
        return accounts.change(rows, [accountRef], (row) => ({
          ...row,
          referral_code: event.code.value,
          // Only beside a code: a row without one is found by nobody's erasure.
          referrer_person: event.code.value === null ? null : event.code.subject,
        }));
      case 'ErasureRequested':
        if (event.account !== null) accounts.delete(rows, accountRef);
        return;
      default:
        return;
    }
  },

  forgetting: {
    lookups: ({ persons }) => [accounts.lookup({ referrer_person: [...persons] })],

    clean(_forgotten, rows) {
      for (const row of accounts.found(rows)) accounts.put(rows, { ...row, referral_code: null, referrer_person: null });
    },
  },
};
