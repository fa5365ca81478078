import type { Decision } from '../../decision.js';
import type { Ask } from '../../fact.js';
import type { SubjectId } from '../../personal.js';
import { refused } from '../../refusal.js';
import type { AccountEvent, Erased, PersonId } from '../account.events.js';
import type { AccountState, OpenAccount } from '../account.state.js';
import { ownMember } from '../../own-member.js';

/**
 * Forgets people, alone or with their account. The request takes effect at once: its people are
 * gone. Their keys are destroyed next, by command-handling/processes/erasure-process.
 */
export interface ForgetUser {
  readonly type: 'ForgetUser';
  readonly userId: string;
  readonly erasureId: string;
  /**
   * The keyed hash that blocks this user id from being identified again; null: the id may be used
   * again.
   */
  readonly suppressed: string | null;
  /** False: the account is deleted with its last user. */
  readonly preserveEmptyAccount: boolean;
  /** Of the account's customer; null: it has none, or no ids of it are stored. */
  readonly customer: SubjectId | null;
  readonly now: number;
}

/** DELETE account: all its users are forgotten with it. */
export interface ForgetAccount {
  readonly type: 'ForgetAccount';
  readonly erasureId: string;
  /** As for a user, by person; empty: every id may be used again. */
  readonly suppressed: Readonly<Record<PersonId, string>>;
  /** Of the account's customer; null: it has none, or no ids of it are stored. */
  readonly customer: SubjectId | null;
  readonly now: number;
}

/** A restored log lacks erasures that are newer than its backup: they are recorded again. */
export type RepeatErasure = Ask<'RepeatErasure', { erased: Erased; suppressed: readonly string[] }>;

export type CompleteErasure = Ask<'CompleteErasure', { erasureId: string }>;

export function forgetUser(state: AccountState, command: ForgetUser): Decision<AccountEvent> {
  const person = state.status === 'open' ? state.personsByUserId.get(command.userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const { erasureId, suppressed, preserveEmptyAccount, now } = command;
  const hold = anyHold(state);
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
  const hold = anyHold(state);
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

/**
 * No events when all are gone already. A newer account under the same id is another one, and stays.
 */
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

/** Recorded once its keys are destroyed; a repetition changes nothing. */
export function completeErasure(
  { remains }: AccountState,
  { erasureId, now }: CompleteErasure,
): Decision<AccountEvent> {
  const erased = remains.erasures.get(erasureId);
  return { events: erased ? [{ type: 'ErasureCompleted', at: now, ...erased }] : [] };
}

// A moderation relies on its holds: it ends first.
const anyHold = (state: OpenAccount): string | undefined => state.holds.first();

/** Whether a user id, as its keyed hash, asked not to be tracked in this account. */
export const isSuppressed = ({ remains }: AccountState, userRef: string): boolean =>
  remains.suppressed.has(userRef);
