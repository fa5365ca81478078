import type { AccountEventOf, Profile } from '../../src/domain/account/account.events.js';
import type { LedgerEvent, Projector, Rows } from '../../src/projecting/projector.js';
import { ERASURES } from '../erasures.js';
import { userAccounts, userCounts, users, type UserAccountRow, type UserRow } from './table.js';

/** Users as they are shown and found. A person whose key is destroyed has no row; what happens to such a person is passed over. */
export const usersProjector: Projector = {
  name: 'users',
  tables: [users, userAccounts, userCounts],
  handles: new Set([
    ...(['AccountOpened', 'PaymentProviderIdSet', 'ReferralStarted', 'ReferralConverted'] as const),
    ...(['UserIdentified', 'UserProfileChanged', 'ReferralCodeAssigned', 'UserBlocked', 'UserUnblocked'] as const),
    ...ERASURES,
  ]),

  keys({ event, accountRef, tenant, mode }) {
    switch (event.type) {
      case 'AccountOpened':
      case 'PaymentProviderIdSet':
      case 'ReferralStarted':
      case 'ReferralConverted':
        return [userAccounts.key(accountRef)];
      case 'UserIdentified':
        return [users.key(event.person), userCounts.key(tenant, mode)];
      case 'UserProfileChanged':
      case 'ReferralCodeAssigned':
      case 'UserBlocked':
      case 'UserUnblocked':
        return [users.key(event.person)];
      case 'ErasureRequested':
      case 'ErasureCompleted':
        return [...event.persons.map((person) => users.key(person)), userCounts.key(tenant, mode), userAccounts.key(accountRef)];
      default:
        return [];
    }
  },

  apply(ledgerEvent, rows) {
    const { event, accountRef, tenant, mode } = ledgerEvent;
    const changeUser = (person: string, change: (row: UserRow) => UserRow): void =>
      users.change(rows, [person], (row) => ({ ...change(row), date_changed: event.at }));
    const changeAccount = (change: (row: UserAccountRow) => UserAccountRow): void => userAccounts.change(rows, [accountRef], change);
    switch (event.type) {
      case 'AccountOpened':
        return userAccounts.put(rows, {
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
      case 'PaymentProviderIdSet':
        return changeAccount((row) => ({ ...row, payment_provider_id: event.paymentProviderId.value }));
      case 'ReferralStarted':
        return changeAccount((row) => ({
          ...row,
          referred_person: event.referred.person,
          referred_by_code: event.code.value,
          // Only beside a code: a row without one is found by nobody's erasure.
          referred_by_person: event.code.value === null ? null : event.code.subject,
          is_converted: false,
        }));
      case 'ReferralConverted':
        return changeAccount((row) => ({ ...row, is_converted: true }));
      case 'UserIdentified':
        return identify(ledgerEvent, event, rows);
      case 'UserProfileChanged':
        return changeUser(event.person, (row) => ({ ...row, ...profileColumns({ ...row.profile, ...event.changes.value }) }));
      case 'ReferralCodeAssigned': {
        const { code, programId } = event;
        if (code.value === null) return;
        const primary = { [programId]: code.value };
        return changeUser(event.person, (row) => ({ ...row, primary_codes: { ...row.primary_codes, ...primary } }));
      }
      case 'UserBlocked':
        return changeUser(event.person, (row) => ({ ...row, date_blocked: event.at }));
      case 'UserUnblocked':
        return changeUser(event.person, (row) => ({ ...row, date_blocked: null }));
      case 'ErasureRequested':
      case 'ErasureCompleted':
        return erase(ledgerEvent, event, rows);
      default:
        return;
    }
  },

  forgetting: {
    lookups: ({ persons }) => [userAccounts.lookup({ referred_by_person: [...persons] })],

    clean(_forgotten, rows) {
      for (const row of userAccounts.found(rows)) userAccounts.put(rows, { ...row, referred_by_code: null, referred_by_person: null });
    },
  },
};

function erase(
  { accountRef, tenant, mode }: LedgerEvent,
  { type, persons, account }: AccountEventOf<'ErasureRequested' | 'ErasureCompleted'>,
  rows: Rows,
): void {
  const gone = persons.filter((person) => users.get(rows, person) !== undefined);
  for (const person of gone) users.delete(rows, person);
  const left = (userCounts.get(rows, tenant, mode)?.users ?? 0) - gone.length;
  if (gone.length > 0 && left > 0) userCounts.put(rows, { tenant, mode, users: left });
  else if (gone.length > 0) userCounts.delete(rows, tenant, mode);
  // By the request alone: when the tombstone comes, the account may have begun anew.
  if (type === 'ErasureRequested' && account !== null) userAccounts.delete(rows, accountRef);
}

function identify({ accountRef, tenant, mode }: LedgerEvent, { at, person, profile }: AccountEventOf<'UserIdentified'>, rows: Rows): void {
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
}

function profileColumns(profile: Profile): Pick<UserRow, 'user_id' | 'email' | 'first_name' | 'last_name' | 'search' | 'profile'> {
  const { id, email, firstName, lastName } = profile;
  const fullName = [firstName, lastName].filter((name) => name !== null).join(' ');
  // A control character between the parts: a piece of text that is searched for does not match across them.
  const search = [email ?? '', fullName, id].join('\u001f').toLowerCase();
  return { user_id: id, email, first_name: firstName, last_name: lastName, search, profile };
}
