import type { PersonId, Profile } from './account.events.js';
import type { Draft } from './draft.js';
import { changeProfile } from './profile-change.js';

/** From where a user called: known only of calls with the user's own token. */
export interface Seen {
  readonly ip: string;
  readonly userAgent: string | null;
  /** The domain of the page that the client names; null: none. */
  readonly source: string | null;
}

/**
 * The profile with what was seen: the first time stays, the last time is replaced; where somebody
 * came from is what the first call says.
 */
export function withSeen(profile: Profile, seen: Seen | undefined): Profile {
  if (seen === undefined) return profile;
  return {
    ...profile,
    referralSource: profile.referralSource ?? (profile.firstSeenIP === null ? seen.source : null),
    firstSeenIP: profile.firstSeenIP ?? seen.ip,
    lastSeenIP: seen.ip,
    firstSeenUserAgent: profile.firstSeenUserAgent ?? seen.userAgent,
    lastSeenUserAgent: seen.userAgent ?? profile.lastSeenUserAgent,
  };
}

/** Records from where somebody called who is known already. */
export function noteSeen(draft: Draft, person: PersonId, seen: Seen | undefined, at: number): void {
  const profile = draft.state.users.get(person)?.profile;
  if (profile) changeProfile(draft, person, withSeen(profile, seen), at);
}
