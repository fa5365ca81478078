/** The revision of a stream without events. */
export const NO_REVISION = -1;

/** An event as it comes in. Data and metadata are kept byte for byte. */
export interface ProposedEvent {
  /** A UUID. */
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event as stored in the log. */
export interface StoredEvent extends ProposedEvent {
  /** Its place among all events of the log: 0, 1, 2, … */
  readonly index: number;
  /**
   * Commit and prepare position, which are the same number: where a record would start in a file.
   * Grows, with gaps.
   */
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  /** When it was stored, in milliseconds since 1970. */
  readonly created: number;
}

/** The revision of the last event of the stream that a writer expects. */
export type ExpectedRevision = 'no_stream' | number;

/** What became of an append. */
export type WriteOutcome =
  /** Stored, now or by the very same call before. */
  | { readonly kind: 'stored'; readonly revision: number; readonly position: number }
  | { readonly kind: 'wrong-expected-version'; readonly actual: number }
  | { readonly kind: 'stream-deleted' };

/** What a read of one stream finds, oldest event first or last as asked. */
export type StreamPage =
  | { readonly kind: 'events'; readonly events: readonly StoredEvent[] }
  | { readonly kind: 'stream-not-found' }
  | { readonly kind: 'stream-deleted' };

/**
 * A proposed event from what tests like to write: data and metadata are texts, bytes, or anything
 * that is JSON.
 */
export function proposedEvent(from: {
  id: string;
  type: string;
  data: unknown;
  metadata?: unknown;
  isJson?: boolean;
}): ProposedEvent {
  return {
    id: from.id,
    type: from.type,
    isJson: from.isJson ?? true,
    data: bytesOf(from.data),
    metadata: bytesOf(from.metadata),
  };
}

function bytesOf(value: unknown): Uint8Array {
  if (value === undefined) return new Uint8Array();
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
}
