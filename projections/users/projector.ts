import type { PersonId, Profile } from '../../src/domain/account/account.events.js';
import { foldedText } from '../../src/domain/folded-text.js';
import { defineProjector } from '../../src/projecting/define-projector.js';
import type { LedgerEvent, Rows } from '../../src/projecting/projector.js';
import {
  SEARCH_SEPARATOR,
  userAccounts,
  userCounts,
  users,
  type UserAccountRow,
  type UserRow,
} from './table.js';

/** Users, for display and search; none whose key is destroyed. */
export const usersProjector = defineProjector({
  name: 'users',
  tables: [users, userAccounts, userCounts],
  on: {
    AccountOpened: {
      keys: accountRow,
      apply({ event, accountRef, tenant, mode }, rows) {
        userAccounts.put(rows, {
          account_ref: accountRef,
          tenant,
          mode,
          account_id: event.accountId.value,
          payment_provider_id: null,
          referred_person: null,
          referred_by_code: null,
          referred_by_person: null,
          is_converted: false,
        });
      },
    },
    PaymentProviderIdSet: {
      keys: accountRow,
      apply({ event, accountRef }, rows) {
        changeAccount(rows, accountRef, { payment_provider_id: event.paymentProviderId.value });
      },
    },
    ReferralStarted: {
      keys: accountRow,
      apply({ event: { referred, code }, accountRef }, rows) {
        changeAccount(rows, accountRef, {
          referred_person: referred.person,
          referred_by_code: code.value,
          // Only with a code: an erasure cannot find a row without one.
          referred_by_person: code.value === null ? null : code.subject,
          is_converted: false,
        });
      },
    },
    ReferralConverted: {
      keys: accountRow,
      apply: ({ accountRef }, rows) => changeAccount(rows, accountRef, { is_converted: true }),
    },
    UserIdentified: {
      keys: ({ event, tenant, mode }) => [users.key(event.person), userCounts.key(tenant, mode)],
      apply({ event: { at, person, profile }, accountRef, tenant, mode }, rows) {
        if (profile.value === null) return;
        if (!users.get(rows, person)) {
          const counted = userCounts.get(rows, tenant, mode)?.users ?? 0;
          userCounts.put(rows, { tenant, mode, users: counted + 1 });
        }
        users.put(rows, {
          person,
          tenant,
          mode,
          account_ref: accountRef,
          ...profileColumns(profile.value),
          primary_codes: {},
          date_created: at,
          date_blocked: null,
          date_changed: at,
        });
      },
    },
    UserProfileChanged: {
      keys: userRow,
      apply({ event }, rows) {
        changeUser(rows, event, ({ profile }) =>
          profileColumns({ ...profile, ...event.changes.value }),
        );
      },
    },
    ReferralCodeAssigned: {
      keys: userRow,
      apply({ event }, rows) {
        const { code, programId } = event;
        if (code.value === null) return;
        const primary = { [programId]: code.value };
        changeUser(rows, event, (row) => ({ primary_codes: { ...row.primary_codes, ...primary } }));
      },
    },
    UserBlocked: {
      keys: userRow,
      apply: ({ event }, rows) => changeUser(rows, event, () => ({ date_blocked: event.at })),
    },
    UserUnblocked: {
      keys: userRow,
      apply: ({ event }, rows) => changeUser(rows, event, () => ({ date_blocked: null })),
    },
  },

  forgetting: {
    immediate: {
      keys: ({ persons, tenant, mode, accountRef }) => [
        ...[...persons].map((person) => users.key(person)),
        userCounts.key(tenant, mode),
        userAccounts.key(accountRef),
      ],
      clean({ persons, tenant, mode, accountRef, deletesAccount }, rows) {
        const gone = [...persons].filter((person) => users.get(rows, person) !== undefined);
        for (const person of gone) users.delete(rows, person);
        const left = (userCounts.get(rows, tenant, mode)?.users ?? 0) - gone.length;
        if (gone.length > 0 && left > 0) userCounts.put(rows, { tenant, mode, users: left });
        else if (gone.length > 0) userCounts.delete(rows, tenant, mode);
        if (deletesAccount) userAccounts.delete(rows, accountRef);
      },
    },
    lookups: ({ persons }) => [userAccounts.lookup({ referred_by_person: [...persons] })],
    clean(_forgotten, rows) {
      for (const row of userAccounts.found(rows)) {
        userAccounts.put(rows, { ...row, referred_by_code: null, referred_by_person: null });
      }
    },
  },
});

function accountRow({ accountRef }: Pick<LedgerEvent, 'accountRef'>) {
  return [userAccounts.key(accountRef)];
}

function userRow({ event }: { readonly event: { readonly person: PersonId } }) {
  return [users.key(event.person)];
}

function changeAccount(rows: Rows, accountRef: string, changes: Partial<UserAccountRow>): void {
  userAccounts.change(rows, [accountRef], (row) => ({ ...row, ...changes }));
}

function changeUser(
  rows: Rows,
  { person, at }: { readonly person: PersonId; readonly at: number },
  changes: (row: UserRow) => Partial<UserRow>,
): void {
  users.change(rows, [person], (row) => ({ ...row, ...changes(row), date_changed: at }));
}

type ProfileColumns = Pick<
  UserRow,
  'user_id' | 'email' | 'first_name' | 'last_name' | 'searched' | 'profile'
>;

function profileColumns(profile: Profile): ProfileColumns {
  const { id, email, firstName, lastName } = profile;
  const fullName = [firstName, lastName].filter((name) => name !== null).join(' ');
  const address = email?.toLowerCase() ?? '';
  const folded = foldedText(address);
  const searched = [
    address,
    ...(folded === address ? [] : [folded]),
    foldedText(fullName),
    foldedText(id),
  ].join(SEARCH_SEPARATOR);
  return { user_id: id, email, first_name: firstName, last_name: lastName, searched, profile };
}
