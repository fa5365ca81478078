import type { Subscription } from '../../src/domain/account/account.events.js';
import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

export type AccountRow = {
  readonly account_ref: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account_id: string;
  readonly currency: string;
  /** Null until the first one is set. */
  readonly subscription: Subscription | null;
  readonly referral_code: string | null;
  /** The owner of that code. */
  readonly referrer_person: string | null;
  readonly date_opened: number;
};

export const accounts = new TableOf<AccountRow>({
  name: 'accounts',
  columns: {
    account_ref: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    account_id: 'text not null',
    currency: 'text not null',
    subscription: 'jsonb',
    referral_code: 'text',
    referrer_person: 'text',
    date_opened: 'bigint not null',
  },
  primaryKey: ['account_ref'],
  indexes: {
    by_referrer: { definition: '(referrer_person) where referrer_person is not null' },
    newest_first: { definition: '(tenant, mode, date_opened desc, account_ref)' },
  },
});
