import type { StoredMetadata } from './envelope.js';
import type { RecordedEvent } from './event-log.js';
import { CURRENT_VERSIONS, unknownVersionReason } from './event-schemas.js';

/** A type or version of a later release, or an unknown version; without decryption. */
export function unreadableReason({
  type,
  metadata,
}: Pick<RecordedEvent, 'type' | 'metadata'>): string | undefined {
  if (!Object.hasOwn(CURRENT_VERSIONS, type)) return unknownVersionReason(type, 1);
  const version = versionIn(metadata);
  return version === undefined
    ? 'the stored metadata is broken'
    : unknownVersionReason(type, version);
}

/** This release knows the type and the version of the event. */
export const isKnown = (type: string, version: number | null): boolean =>
  unknownVersionReason(type, version ?? 1) === undefined;

/** The schema version of an event; undefined: its metadata is broken. */
export function versionIn(metadata: string): number | undefined {
  try {
    const { v } = JSON.parse(metadata) as Partial<StoredMetadata>;
    return typeof v === 'number' ? v : undefined;
  } catch {
    return undefined;
  }
}
