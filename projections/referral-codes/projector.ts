import type { PersonId } from '../../src/domain/account/account.events.js';
import { defineProjector } from '../../src/projecting/define-projector.js';
import { codeOwners, referralCodes } from './table.js';

export const codeKey = (code: string): string => code.toLowerCase();

const ownerRow = ({ event }: { readonly event: { readonly person: PersonId } }) => [
  codeOwners.key(event.person),
];

/** Codes and their owners. The code of a forgotten owner has no row: it no longer resolves. */
export const referralCodesProjector = defineProjector({
  name: 'referral-codes',
  tables: [referralCodes, codeOwners],
  on: {
    UserIdentified: {
      keys: ownerRow,
      apply({ event: { person, profile }, tenant, mode, accountRef }, rows) {
        if (profile.value === null) return;
        codeOwners.put(rows, {
          person,
          tenant,
          mode,
          account_ref: accountRef,
          blocked: false,
          first_name: profile.value.firstName,
          last_name: profile.value.lastName,
        });
      },
    },
    UserProfileChanged: {
      keys: ownerRow,
      apply({ event: { person, changes } }, rows) {
        // A missing name keeps its value, null clears it.
        const { firstName, lastName } = changes.value ?? {};
        codeOwners.change(rows, [person], (row) => ({
          ...row,
          first_name: firstName === undefined ? row.first_name : firstName,
          last_name: lastName === undefined ? row.last_name : lastName,
        }));
      },
    },
    UserBlocked: {
      keys: ownerRow,
      apply: ({ event }, rows) =>
        codeOwners.change(rows, [event.person], (row) => ({ ...row, blocked: true })),
    },
    UserUnblocked: {
      keys: ownerRow,
      apply: ({ event }, rows) =>
        codeOwners.change(rows, [event.person], (row) => ({ ...row, blocked: false })),
    },
    ReferralCodeAssigned: {
      keys({ event: { code }, tenant, mode }) {
        return code.value === null ? [] : [referralCodes.key(tenant, mode, codeKey(code.value))];
      },
      /** A code that is assigned again keeps its first date. */
      apply({ event: { at, person, code, programId }, tenant, mode, accountRef }, rows) {
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
      },
    },
  },

  // A code without its owner does not resolve, so rows that wait for their piece are not shown.
  forgetting: {
    immediate: {
      keys: ({ persons }) => [...persons].map((person) => codeOwners.key(person)),
      clean({ persons }, rows) {
        for (const person of persons) codeOwners.delete(rows, person);
      },
    },
    lookups: ({ persons }) => [referralCodes.lookup({ person: [...persons] })],
    clean(_forgotten, rows) {
      for (const { tenant, mode, code_key } of referralCodes.found(rows)) {
        referralCodes.delete(rows, tenant, mode, code_key);
      }
    },
  },
});
