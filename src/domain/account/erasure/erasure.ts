import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { SubjectId } from '../../personal.js';
import { refused } from '../../refusal.js';
import type { AccountEvent, ErasedSubjects, PersonId } from '../account.events.js';
import type { AccountState, OpenAccount } from '../account.state.js';
import { ownMember } from '../../own-member.js';

/** Immediate; command-handling/processes/erasure-process destroys the keys next. */
export interface ForgetUser {
  readonly type: 'ForgetUser';
  readonly userId: string;
  readonly erasureId: string;
  /** Keyed hash of a user id that must not be identified again; null: it may be used again. */
  readonly suppressed: string | null;
  /** False: the account is deleted with its last user. */
  readonly preserveEmptyAccount: boolean;
  /** Key of the account's customer; null: none, or none of its ids are stored. */
  readonly customer: SubjectId | null;
  readonly now: number;
}

/** DELETE account: forgets all its users as well. */
export interface ForgetAccount {
  readonly type: 'ForgetAccount';
  readonly erasureId: string;
  /** As for a user, by person. */
  readonly suppressed: Readonly<Record<PersonId, string>>;
  /** Key of the account's customer; null: none, or none of its ids are stored. */
  readonly customer: SubjectId | null;
  readonly now: number;
}

/** Records again an erasure that a restored log lacks. */
export type RepeatErasure = Command<
  'RepeatErasure',
  { erased: ErasedSubjects; suppressed: readonly string[] }
>;

export type CompleteErasure = Command<'CompleteErasure', { erasureId: string }>;

export function forgetUser(state: AccountState, command: ForgetUser): Decision<AccountEvent> {
  const person = state.status === 'open' ? state.personsByUserId.get(command.userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const { erasureId, suppressed, preserveEmptyAccount, now } = command;
  const hold = firstHold(state);
  if (hold !== undefined) return { heldBy: hold };
  const isLast = !preserveEmptyAccount && state.users.size === 1;
  return {
    events: [
      {
        type: 'ErasureRequested',
        at: now,
        erasureId,
        persons: [person],
        account: isLast ? state.account : null,
        ...(isLast ? ofCustomer(command.customer) : {}),
        suppressed: suppressed === null ? [] : [suppressed],
      },
    ],
  };
}

export function forgetAccount(
  state: AccountState,
  { erasureId, suppressed, customer, now }: ForgetAccount,
): Decision<AccountEvent> {
  if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  const hold = firstHold(state);
  if (hold !== undefined) return { heldBy: hold };
  const persons = [...state.users.keys()];
  const ids = persons.flatMap((person) => ownMember(suppressed, person) ?? []);
  return {
    events: [
      {
        type: 'ErasureRequested',
        at: now,
        erasureId,
        persons,
        account: state.account,
        ...ofCustomer(customer),
        suppressed: ids,
      },
    ],
  };
}

const ofCustomer = (customer: SubjectId | null) => (customer === null ? {} : { customer });

/** No events when all are gone. A newer account under the same id stays. */
export function repeatErasure(
  state: AccountState,
  { erased, suppressed, now }: RepeatErasure,
): Decision<AccountEvent> {
  const { persons } = erased;
  const account =
    state.status === 'open' && state.account === erased.account ? erased.account : null;
  const subjects = account === null ? persons : [...persons, account];
  const isDone =
    subjects.every((subject) => state.remains.forgotten.has(subject)) &&
    suppressed.every((ref) => isSuppressed(state, ref));
  return {
    events: isDone ? [] : [{ type: 'ErasureRequested', at: now, ...erased, account, suppressed }],
  };
}

/** Recorded when the keys are destroyed; a repetition changes nothing. */
export function completeErasure(
  { remains }: AccountState,
  { erasureId, now }: CompleteErasure,
): Decision<AccountEvent> {
  const erased = remains.erasures.get(erasureId);
  return { events: erased ? [{ type: 'ErasureCompleted', at: now, ...erased }] : [] };
}

// A moderation relies on its holds: it ends first.
const firstHold = (state: OpenAccount): string | undefined => state.holds.first();

/** The user id asked not to be tracked in this account. */
export const isSuppressed = ({ remains }: AccountState, userRef: string): boolean =>
  remains.suppressed.has(userRef);
