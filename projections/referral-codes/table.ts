import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

export type ReferralCodeRow = {
  readonly tenant: string;
  readonly mode: LedgerMode;
  /** In lower case: codes are compared without case. */
  readonly code_key: string;
  /** In the owner's spelling. */
  readonly code: string;
  readonly account_ref: string;
  readonly person: string;
  readonly program_id: string;
  /** When its owner first had it. */
  readonly date_created: number;
};

/** Every code that was ever assigned: old ones keep working. */
export const referralCodes = new TableOf<ReferralCodeRow>({
  name: 'referral_codes',
  columns: {
    tenant: 'text not null',
    mode: 'text not null',
    code_key: 'text not null',
    code: 'text not null',
    account_ref: 'text not null',
    person: 'text not null',
    program_id: 'text not null',
    date_created: 'bigint not null',
  },
  primaryKey: ['tenant', 'mode', 'code_key'],
  indexes: { by_person: { definition: '(person)' } },
});

export type CodeOwnerRow = {
  readonly person: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account_ref: string;
  readonly blocked: boolean;
  readonly first_name: string | null;
  readonly last_name: string | null;
};

export const codeOwners = new TableOf<CodeOwnerRow>({
  name: 'code_owners',
  columns: {
    person: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    account_ref: 'text not null',
    blocked: 'boolean not null',
    first_name: 'text',
    last_name: 'text',
  },
  primaryKey: ['person'],
  indexes: {},
});
