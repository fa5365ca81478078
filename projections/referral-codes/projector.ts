import type { AccountEventOf } from '../../src/domain/account/account.events.js';
import type { LedgerEvent, Projector, Rows } from '../../src/projecting/projector.js';
import { ERASURES } from '../erasures.js';
import { codeOwners, referralCodes } from './table.js';

/** Codes and who owns them. A code whose owner is forgotten has no row: it no longer resolves. */
export const referralCodesProjector: Projector = {
  name: 'referral-codes',
  tables: [referralCodes, codeOwners],
  handles: new Set(['UserIdentified', 'UserProfileChanged', 'UserBlocked', 'UserUnblocked', 'ReferralCodeAssigned', ...ERASURES]),

  keys({ event, tenant, mode }) {
    switch (event.type) {
      case 'UserIdentified':
      case 'UserProfileChanged':
      case 'UserBlocked':
      case 'UserUnblocked':
        return [codeOwners.key(event.person)];
      case 'ReferralCodeAssigned':
        return event.code.value === null ? [] : [referralCodes.key(tenant, mode, codeKey(event.code.value))];
      case 'ErasureRequested':
      case 'ErasureCompleted':
        return event.persons.map((person) => codeOwners.key(person));
      default:
        return [];
    }
  },

  apply(ledgerEvent, rows) {
    const { event, accountRef, tenant, mode } = ledgerEvent;
    switch (event.type) {
      case 'UserIdentified': {
        const { person, profile } = event;
        if (profile.value === null) return;
        const { firstName: first_name, lastName: last_name } = profile.value;
        return codeOwners.put(rows, { person, tenant, mode, account_ref: accountRef, blocked: false, first_name, last_name });
      }
      case 'UserProfileChanged': {
        // A name that is left out keeps its value, null clears it.
        const { firstName, lastName } = event.changes.value ?? {};
        return codeOwners.change(rows, [event.person], (row) => ({
          ...row,
          first_name: firstName === undefined ? row.first_name : firstName,
          last_name: lastName === undefined ? row.last_name : lastName,
        }));
      }
      case 'UserBlocked':
        return codeOwners.change(rows, [event.person], (row) => ({ ...row, blocked: true }));
      case 'UserUnblocked':
        return codeOwners.change(rows, [event.person], (row) => ({ ...row, blocked: false }));
      case 'ReferralCodeAssigned':
        return assign(ledgerEvent, event, rows);
      case 'ErasureRequested':
      case 'ErasureCompleted':
        for (const person of event.persons) codeOwners.delete(rows, person);
        return;
      default:
        return;
    }
  },

  // A code without its owner resolves no longer, so those that wait for their piece are not shown.
  forgetting: {
    lookups: ({ persons }) => [referralCodes.lookup({ person: [...persons] })],

    clean(_forgotten, rows) {
      for (const { tenant, mode, code_key } of referralCodes.found(rows)) referralCodes.delete(rows, tenant, mode, code_key);
    },
  },
};

/** An own code that is given again keeps the time when it was first had. */
function assign(
  { accountRef, tenant, mode }: LedgerEvent,
  { at, person, code, programId }: AccountEventOf<'ReferralCodeAssigned'>,
  rows: Rows,
): void {
  if (code.value === null) return;
  const before = referralCodes.get(rows, tenant, mode, codeKey(code.value));
  referralCodes.put(rows, {
    tenant,
    mode,
    code_key: codeKey(code.value),
    code: code.value,
    account_ref: accountRef,
    person,
    program_id: programId,
    date_created: before?.person === person ? before.date_created : at,
  });
}

export const codeKey = (code: string): string => code.toLowerCase();
