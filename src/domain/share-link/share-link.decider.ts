import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';

/** Visits of a code's links, in one stream per code and day, without data of visitors. */
export type ShareLinkEvent =
  /** One visit, as earlier releases recorded it. */
  | ({ readonly type: 'ShareLinkFollowed'; readonly at: number } & SharedLink & SharedMedia)
  /** The visits that one process counted in an interval. */
  | ({ readonly type: 'ShareLinkVisitsCounted'; readonly at: number } & CountedVisits);

export interface SharedLink {
  /** The owner of the link. */
  readonly person: PersonId;
  readonly programId: string;
}

/** As the link names them; both from a closed list. */
export interface SharedMedia {
  readonly shareMedium: string;
  readonly engagementMedium: string;
}

export interface CountedVisits extends SharedLink {
  /** The beginning of the interval, epoch milliseconds. */
  readonly since: number;
  readonly visits: readonly (SharedMedia & { readonly count: number })[];
}

export interface CountVisits extends CountedVisits {
  readonly now: number;
}

export function decide({ now, ...counted }: CountVisits): Decision<ShareLinkEvent> {
  return { events: [{ type: 'ShareLinkVisitsCounted', at: now, ...counted }] };
}
