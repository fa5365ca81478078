import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';

/**
 * How often the links of a code were followed, on one day: a stream per code and day. Nothing about
 * the visitors is kept.
 */
export interface ShareLinkEvent {
  readonly type: 'ShareLinkFollowed';
  readonly at: number;
  /** The owner of the link. */
  readonly person: PersonId;
  readonly programId: string;
  /** The media, as the link names them; both from a closed list. */
  readonly shareMedium: string;
  readonly engagementMedium: string;
}

export interface ShareLinkState {
  readonly followed: number;
}

export const initialState: ShareLinkState = { followed: 0 };

export const evolve = ({ followed }: ShareLinkState, _event: ShareLinkEvent): ShareLinkState => ({
  followed: followed + 1,
});

export interface FollowShareLink extends Omit<ShareLinkEvent, 'type' | 'at'> {
  readonly now: number;
}

export function decide({ now, ...link }: FollowShareLink): Decision<ShareLinkEvent> {
  return { events: [{ type: 'ShareLinkFollowed', at: now, ...link }] };
}
