import type { InNeed } from '../../need.js';
import type { SubjectId } from '../../personal.js';
import type { AccountState } from '../account.state.js';
import type { Circumstances } from './circumstances.js';
import { ownMember } from '../../own-member.js';

/** Concurrent commands that create a user give it the same name and share reservations. */
export function accountSubject(state: AccountState, given: Circumstances): SubjectId | InNeed {
  return state.status === 'open'
    ? state.account
    : newSubject(`${given.account}/account`, state, given);
}

export function newPerson(
  userId: string,
  state: AccountState,
  given: Circumstances,
): SubjectId | InNeed {
  return newSubject(`${given.ids.userRef(userId)}/person`, state, given);
}

function newSubject(
  cause: string,
  { remains: { forgotten } }: AccountState,
  { provided, ids }: Circumstances,
): SubjectId | InNeed {
  const known = ownMember(provided.subjects, cause);
  if (known && !forgotten.has(known.subject)) return known.subject;
  const from = firstUnused((n) => forgotten.has(ids.uuid(cause, n)), known ? known.from + 1 : 0);
  return { needs: [{ kind: 'subject', cause, from }] };
}

/** The least unused number from `from` on if there are no gaps; otherwise some unused one. */
function firstUnused(isUsed: (n: number) => boolean, from: number): number {
  if (!isUsed(from)) return from;
  let step = 1;
  while (isUsed(from + step)) step *= 2;
  let [used, unused] = [from + Math.floor(step / 2), from + step];
  while (unused - used > 1) {
    const middle = Math.floor((used + unused) / 2);
    if (isUsed(middle)) used = middle;
    else unused = middle;
  }
  return unused;
}
