import type { NewEvent, Origin, Position, RecordedEvent } from './event-log.js';

/**
 * A copy stores the origin as the last member of the metadata, written as below and cut off again
 * textually, so that what was recorded comes back byte for byte: digests and chains never see the
 * member. Metadata that is no JSON object is stored as it is, without.
 */
const ORIGIN = /,?"origin":\{"position":"([\w.-]{1,100})","recordedAt":(\d{1,16})\}\}$/;
/** Longer than any origin: only the end of the metadata is searched. */
const ORIGIN_CHARACTERS_MAX = 200;

/**
 * Metadata that would be taken for that of a copy: nothing of ours is made so, and a log does not
 * take it.
 */
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

/** The events as an adapter stores them: what names an origin carries it in its metadata. */
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

/**
 * The event as everything outside the adapters sees it: the metadata as it was recorded, and the
 * time when it was. Every adapter passes what it reads through here, so nobody has to think of
 * copies.
 */
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

/**
 * The position that an event had where it was recorded first: what documents show, the same in
 * every copy of the log.
 */
export const firstPosition = ({
  position,
  origin,
}: Pick<RecordedEvent, 'position' | 'origin'>): Position => origin?.position ?? position;
