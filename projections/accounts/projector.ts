import type { Projector } from '../../src/projecting/projector.js';
import { accounts } from './table.js';

/** Accounts as `GET /account/{accountId}` shows them. An account whose key is destroyed has no row. */
export const accountsProjector: Projector = {
  name: 'accounts',
  tables: [accounts],
  handles: new Set(['AccountOpened', 'SubscriptionChanged', 'CurrencyChanged', 'AccountAttributed']),

  keys: ({ accountRef }) => [accounts.key(accountRef)],

  apply({ event, accountRef, tenant, mode }, rows) {
    switch (event.type) {
      case 'AccountOpened':
        if (event.accountId.value === null) return;
        return accounts.put(rows, {
          ...{ account_ref: accountRef, tenant, mode, account_id: event.accountId.value, currency: event.currency },
          ...{ subscription: null, referral_code: null, date_opened: event.at },
        });
      case 'SubscriptionChanged':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, subscription: event.subscription }));
      case 'CurrencyChanged':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, currency: event.currency }));
      case 'AccountAttributed':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, referral_code: event.code.value }));
      default:
        return;
    }
  },
};
