import type { PersonId, Profile } from '../account.events.js';
import type { Draft } from '../draft.js';
import { changeProfile } from './profile-change.js';

/** Origin of a call, known only with the user's own token. */
export interface CallOrigin {
  readonly ip: string;
  readonly userAgent: string | null;
  /** Domain of the page that the client names. */
  readonly source: string | null;
}

/** First address and page stay, last ones are replaced; the first call sets the referring page. */
export function withCallOrigin(profile: Profile, seen: CallOrigin | undefined): Profile {
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

/** Records the origin of a known user's call. */
export function recordCallOrigin(
  draft: Draft,
  person: PersonId,
  seen: CallOrigin | undefined,
  at: number,
): void {
  const profile = draft.state.users.get(person)?.profile;
  if (profile) changeProfile(draft, person, withCallOrigin(profile, seen), at);
}
