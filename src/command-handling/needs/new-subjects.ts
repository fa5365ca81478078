import type { AccountState } from '../../domain/account/account.state.js';
import type { SubjectId } from '../../domain/personal.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { deterministicId } from '../deterministic-id.js';

/**
 * Names people and accounts that are about to come into being. Two commands that create the same user give it the same name, in whichever
 * process they run: so what one of them reserved is the other's, too. Whoever was forgotten is never named again.
 */
export class NewSubjects {
  constructor(
    private readonly names: KeyedNames,
    private readonly keys: Pick<SubjectKeys, 'loadOrCreate'>,
  ) {}

  person(scope: Scope, account: AccountRef, userId: string, state: AccountState): Promise<SubjectId> {
    return this.unused(`${this.names.userRef(scope, account, userId)}/person`, state);
  }

  account(account: AccountRef, state: AccountState): Promise<SubjectId> {
    return this.unused(`${account}/account`, state);
  }

  private async unused(cause: string, { remains: { forgotten } }: AccountState): Promise<SubjectId> {
    const nth = (n: number): SubjectId => deterministicId(cause, n);
    for (let from = 0; ; from++) {
      from = firstUnused((n) => forgotten.has(nth(n)), from);
      const subject = nth(from);
      // A log that lost its newest events may know nothing of an erasure whose keys are destroyed.
      if ((await this.keys.loadOrCreate([subject])).get(subject)) return subject;
    }
  }
}

/** The least number from `from` on that is not used where the used ones have no gap; in any case one that is not used. */
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
