import type { PersonId, Profile } from '../account.events.js';
import type { Draft } from '../draft.js';
import { changeProfile } from './profile-change.js';

/** Where a user called from: known only for calls with the user's own token. */
export interface Seen {
  readonly ip: string;
  readonly userAgent: string | null;
  /** The domain of the page that the client names; null: none. */
  readonly source: string | null;
}

/**
 * The profile with the new address and page: first values stay, last ones are replaced; the
 * referring page is that of the first call.
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

/** Records the address of a known user's call. */
export function noteSeen(draft: Draft, person: PersonId, seen: Seen | undefined, at: number): void {
  const profile = draft.state.users.get(person)?.profile;
  if (profile) changeProfile(draft, person, withSeen(profile, seen), at);
}
