import { personal } from '../../personal.js';
import type { Decision } from '../../decision.js';
import { refused, type Refused } from '../../refusal.js';
import type { AccountEvent, SubscriptionStatus } from '../account.events.js';
import { evolve, type AccountState, type OpenAccount } from '../account.state.js';
import { isSuppressed } from '../erasure/erasure.js';
import type { Circumstances } from '../requests/circumstances.js';
import { accountSubject, newPerson } from '../requests/subjects.js';
import { reservedCodes } from '../requests/upsert-user-request.js';
import { accountOpened, DEFAULT_CURRENCY } from '../sync-account.js';
import { emptyProfile, merge, USERS_MAX, type ProfileChanges } from '../users/identify-user.js';
import { answerToRepeated, refusalOfDates, type ImportedRow } from './imported-rows.js';

/** A person of another program, with the account. Undefined: not in the row. */
export interface ImportUser extends ImportedRow {
  readonly type: 'ImportUser';
  readonly accountId: string;
  readonly userId: string;
  readonly changes: ProfileChanges;
  readonly referralCode: string | undefined;
  readonly paymentProviderId: string | undefined;
  readonly dateCreated: number | undefined;
  readonly blocked: boolean;
  readonly status: SubscriptionStatus | undefined;
  /** ISO 4217. */
  readonly currency: string | undefined;
}

export function importUser(
  state: AccountState,
  command: ImportUser,
  given: Circumstances,
): Decision<AccountEvent> {
  const repeated = answerToRepeated(state.remains.imported.get(command.ref), command);
  if (repeated) return repeated;
  const against =
    refusalOfDates(command.row, given.now) ??
    refusalOfUser(state, command, given) ??
    (state.status === 'open' ? refusalOfAccount(state, command) : undefined);
  if (against) return against;
  const account = accountSubject(state, given);
  const person = newPerson(command.userId, state, given);
  if (typeof account === 'object' || typeof person === 'object')
    return {
      needs: [account, person].flatMap((one) => (typeof one === 'object' ? one.needs : [])),
    };
  const opening = openingOf(state, command, account, given.now);
  const opened = opening.reduce<AccountState>(evolve, state) as OpenAccount;
  const { tenant, now } = given;
  const { changes, paymentProviderId, referralCode } = command;
  const wanted = new Map(
    referralCode === undefined ? [] : [[tenant.defaultProgramId, referralCode] as const],
  );
  const request = { changes, paymentProviderId };
  const codes = reservedCodes({ request, wanted, account: opened, person }, given);
  if (!Array.isArray(codes)) return codes;
  const at = command.dateCreated ?? now;
  const profile = merge(emptyProfile(command.userId), changes);
  const imported = { ref: command.ref, row: personal(person, command.row), at: now };
  const events: AccountEvent[] = [
    ...opening,
    ...ofAccount(opened, command, now),
    { type: 'UserIdentified', at, person, profile: personal(person, profile), imported },
    ...codes.map(({ code, programId }): AccountEvent => {
      const owned = { person, code: personal(person, code), programId };
      return { type: 'ReferralCodeAssigned', at, ...owned, imported: true };
    }),
    ...(command.blocked ? [{ type: 'UserBlocked' as const, at: now, person }] : []),
  ];
  return { events };
}

/** Until a row gives a status, the account reads as TRIAL. */
function openingOf(
  state: AccountState,
  { accountId, currency, dateCreated }: ImportUser,
  account: string,
  now: number,
): readonly AccountEvent[] {
  if (state.status === 'open') return [];
  const opened = accountOpened(
    accountId,
    account,
    currency ?? DEFAULT_CURRENCY,
    dateCreated ?? now,
  );
  return [currency === undefined ? { ...opened, currencyIsDefault: true } : opened];
}

function refusalOfUser(
  state: AccountState,
  { userId }: ImportUser,
  { ids }: Circumstances,
): Refused | undefined {
  const users = state.status === 'open' ? state.personsByUserId : undefined;
  if (users?.has(userId)) return refused('USER_EXISTS');
  if (isSuppressed(state, ids.userRef(userId))) return refused('DO_NOT_TRACK');
  return (users?.size ?? 0) >= USERS_MAX ? refused('TOO_MANY_USERS') : undefined;
}

/** The first row that gives a value of the account sets it; others must agree. */
function refusalOfAccount(
  { subscription, currency, currencyIsDefault, paymentProviderId }: OpenAccount,
  row: ImportUser,
): Refused | undefined {
  if (row.status !== undefined && subscription !== null && subscription.status !== row.status)
    return refused(
      'ROW_INVALID',
      `The account's status is ${subscription.status}, not ${row.status}`,
    );
  if (row.currency !== undefined && !currencyIsDefault && currency !== row.currency)
    return refused('ROW_INVALID', `The account's currency is ${currency}, not ${row.currency}`);
  const id = row.paymentProviderId;
  return id === undefined || paymentProviderId === null || paymentProviderId === id
    ? undefined
    : refused('PAYMENT_PROVIDER_ID_SET');
}

function ofAccount(
  account: OpenAccount,
  { status, currency, paymentProviderId: id }: ImportUser,
  at: number,
): readonly AccountEvent[] {
  const events: AccountEvent[] = [];
  if (status !== undefined && account.subscription === null)
    events.push({ type: 'SubscriptionChanged', at, subscription: { status }, imported: true });
  if (currency !== undefined && account.currencyIsDefault)
    events.push({ type: 'CurrencyChanged', at, currency });
  if (id !== undefined && account.paymentProviderId === null) {
    const paymentProviderId = personal(account.account, id);
    events.push({ type: 'PaymentProviderIdSet', at, paymentProviderId, imported: true });
  }
  return events;
}
