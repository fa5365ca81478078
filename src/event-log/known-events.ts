import type { StoredMetadata } from './envelope.js';
import type { RecordedEvent } from './event-log.js';
import { CURRENT_VERSIONS, whyVersionUnknown } from './event-schemas.js';

/**
 * Why this release cannot say what an event may set off, without opening it: its type or its
 * version is of a later release, or nobody can tell which version it has. Undefined: it can.
 */
export function whyUnknown({
  type,
  metadata,
}: Pick<RecordedEvent, 'type' | 'metadata'>): string | undefined {
  if (!Object.hasOwn(CURRENT_VERSIONS, type)) return whyVersionUnknown(type, 1);
  const version = versionIn(metadata);
  return version === undefined ? 'the stored metadata is broken' : whyVersionUnknown(type, version);
}

/** Whether this release knows the type, and the version of it. */
export const isKnown = (type: string, version: number | null): boolean =>
  whyVersionUnknown(type, version ?? 1) === undefined;

/** The version of an event's shape; undefined: its metadata is broken. */
export function versionIn(metadata: string): number | undefined {
  try {
    const { v } = JSON.parse(metadata) as Partial<StoredMetadata>;
    return typeof v === 'number' ? v : undefined;
  } catch {
    return undefined;
  }
}
