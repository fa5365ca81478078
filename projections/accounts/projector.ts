import { defineProjector } from '../../src/projecting/define-projector.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import { accounts } from './table.js';

const ownRow = ({ accountRef }: Pick<LedgerEvent, 'accountRef'>) => [accounts.key(accountRef)];

/** Accounts of `GET /account/{accountId}`; none whose key is destroyed. */
export const accountsProjector = defineProjector({
  name: 'accounts',
  tables: [accounts],
  on: {
    AccountOpened: {
      keys: ownRow,
      apply({ event, accountRef, tenant, mode }, rows) {
        if (event.accountId.value === null) return;
        accounts.put(rows, {
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
      },
    },
    SubscriptionChanged: {
      keys: ownRow,
      apply({ event: { subscription }, accountRef }, rows) {
        accounts.change(rows, [accountRef], (row) => ({ ...row, subscription }));
      },
    },
    CurrencyChanged: {
      keys: ownRow,
      apply({ event: { currency }, accountRef }, rows) {
        accounts.change(rows, [accountRef], (row) => ({ ...row, currency }));
      },
    },
    AccountAttributed: {
      keys: ownRow,
      apply({ event: { code }, accountRef }, rows) {
        accounts.change(rows, [accountRef], (row) => ({
          ...row,
          referral_code: code.value,
          // Only with a code: an erasure cannot find a row without one.
          referrer_person: code.value === null ? null : code.subject,
        }));
      },
    },
  },

  forgetting: {
    immediate: {
      keys: ownRow,
      clean({ accountRef, deletesAccount }, rows) {
        if (deletesAccount) accounts.delete(rows, accountRef);
      },
    },
    lookups: ({ persons }) => [accounts.lookup({ referrer_person: [...persons] })],
    clean(_forgotten, rows) {
      for (const row of accounts.found(rows)) {
        accounts.put(rows, { ...row, referral_code: null, referrer_person: null });
      }
    },
  },
});
