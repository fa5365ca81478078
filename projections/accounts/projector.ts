import type { Projector } from '../../src/projecting/projector.js';
import { ERASURES, LOOKS_UP } from '../erasures.js';
import { accounts } from './table.js';

/** Accounts as `GET /account/{accountId}` shows them. An account whose key is destroyed has no row. */
export const accountsProjector: Projector = {
  name: 'accounts',
  tables: [accounts],
  handles: new Set(['AccountOpened', 'SubscriptionChanged', 'CurrencyChanged', 'AccountAttributed', ...ERASURES]),
  looksUp: LOOKS_UP,

  keys: ({ accountRef }) => [accounts.key(accountRef)],

  lookups: ({ event }) =>
    event.type === 'ErasureRequested' || event.type === 'ErasureCompleted' ? [accounts.lookup({ referrer_person: event.persons })] : [],

  apply({ event, accountRef, tenant, mode }, rows) {
    switch (event.type) {
      case 'AccountOpened':
        if (event.accountId.value === null) return;
        return accounts.put(rows, {
          ...{ account_ref: accountRef, tenant, mode, account_id: event.accountId.value, currency: event.currency },
          ...{ subscription: null, referral_code: null, referrer_person: null, date_opened: event.at },
        });
      case 'SubscriptionChanged':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, subscription: event.subscription }));
      case 'CurrencyChanged':
        return accounts.change(rows, [accountRef], (row) => ({ ...row, currency: event.currency }));
      case 'AccountAttributed':
        return accounts.change(rows, [accountRef], (row) => ({
          ...row,
          referral_code: event.code.value,
          referrer_person: event.code.subject,
        }));
      case 'ErasureRequested':
      case 'ErasureCompleted':
        for (const row of accounts.held(rows))
          if (row.referrer_person !== null && event.persons.includes(row.referrer_person))
            accounts.put(rows, { ...row, referral_code: null });
        if (event.type === 'ErasureRequested' && event.account !== null) accounts.delete(rows, accountRef);
        return;
      default:
        return;
    }
  },
};
