import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';

/**
 * How often the links of a code were followed, on one day: a stream per code and day. Nothing of
 * who followed them is kept.
 */
export interface ShareLinkEvent {
  readonly type: 'ShareLinkFollowed';
  readonly at: number;
  /** Whose link it is. */
  readonly person: PersonId;
  readonly programId: string;
  /** Where it was shared, as the link itself says; both of a closed list. */
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
