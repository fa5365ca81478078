import { personal } from '../../personal.js';
import type { PersonId, Profile } from '../account.events.js';
import type { Draft } from '../draft.js';

/** Records the members that differ; nothing without a difference or a person. */
export function changeProfile(draft: Draft, person: PersonId, after: Profile, at: number): void {
  const before = draft.state.users.get(person)?.profile;
  if (!before) return;
  const changed = Object.entries(after).filter(
    ([member, value]) => !sameValue(before[member as keyof Profile], value),
  );
  if (changed.length === 0) return;
  draft.emit({
    type: 'UserProfileChanged',
    at,
    person,
    changes: personal(person, Object.fromEntries(changed) as Partial<Profile>),
  });
}

// Members are JSON values in a stable order: equal values have equal texts.
const sameValue = (a: unknown, b: unknown): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);
