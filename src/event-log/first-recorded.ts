import type { NewEvent, Origin, Position, RecordedEvent } from './event-log.js';

/**
 * A copy stores the origin as the last member of the metadata and cuts it off textually, so that
 * the recorded metadata returns byte for byte and digests and chains never include it. Metadata
 * that is no JSON object is stored without an origin.
 */
const ORIGIN = /,?"origin":\{"position":"([\w.-]{1,100})","recordedAt":(\d{1,16})\}\}$/;
/** Longer than any origin: only the end of the metadata is searched. */
const ORIGIN_CHARACTERS_MAX = 200;

/** Metadata like that of a copied event: never written by this service, and refused by a log. */
export const namesOrigin = (metadata: string): boolean => originIn(metadata) !== undefined;

function originIn(
  metadata: string,
): { readonly member: string; readonly origin: Origin } | undefined {
  const tail = metadata.slice(-ORIGIN_CHARACTERS_MAX);
  if (!tail.includes('"origin":{"position":')) return undefined;
  const [member, position, time] = ORIGIN.exec(tail) ?? [];
  if (member === undefined || position === undefined) return undefined;
  return { member, origin: { position, recordedAt: Number(time) } };
}

/** The events as an adapter stores them, with origins in the metadata. */
export function withOrigins(events: readonly NewEvent[]): readonly NewEvent[] {
  if (events.every(({ origin }) => origin === undefined)) return events;
  return events.map((event) => ({ ...event, metadata: withOrigin(event) }));
}

function withOrigin({ metadata, origin }: NewEvent): string {
  if (origin === undefined || !metadata.startsWith('{') || !metadata.endsWith('}')) return metadata;
  const members = metadata.slice(0, -1);
  const comma = members.trimEnd() === '{' ? '' : ',';
  return `${members}${comma}"origin":{"position":"${origin.position}","recordedAt":${origin.recordedAt}}}`;
}

/** All adapters return events through here: no other code handles copies. */
export function asFirstRecorded(stored: Omit<RecordedEvent, 'origin'>): RecordedEvent {
  const found = originIn(stored.metadata);
  if (found === undefined) return stored;
  const { member, origin } = found;
  return {
    ...stored,
    metadata: `${stored.metadata.slice(0, -member.length)}}`,
    recordedAt: origin.recordedAt,
    origin,
  };
}

/** The position of the first recording, which documents show: equal in every copy of the log. */
export const firstPosition = ({
  position,
  origin,
}: Pick<RecordedEvent, 'position' | 'origin'>): Position => origin?.position ?? position;
