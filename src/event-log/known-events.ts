import type { StoredMetadata } from './envelope.js';
import type { RecordedEvent } from './event-log.js';
import { CURRENT_VERSIONS, unknownVersionReason } from './event-schemas.js';

/**
 * Why this release cannot tell, without decrypting the event, which reactions it has: its type or
 * version is of a later release, or its version is unknown. Undefined: it can.
 */
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

/** Whether this release knows the type and the version of the event. */
export const isKnown = (type: string, version: number | null): boolean =>
  unknownVersionReason(type, version ?? 1) === undefined;

/** The version of an event's shape; undefined: its metadata is broken. */
export function versionIn(metadata: string): number | undefined {
  try {
    const { v } = JSON.parse(metadata) as Partial<StoredMetadata>;
    return typeof v === 'number' ? v : undefined;
  } catch {
    return undefined;
  }
}
