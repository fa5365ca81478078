import type { SubjectId } from '../../domain/personal.js';

/** The state of a stream as of one of its events, sealed. */
export interface SnapshotRow {
  readonly stream: string;
  /** Of the code that folded it: another release may fold the same events to another state. */
  readonly version: string;
  readonly revision: bigint;
  /** The event at that revision. */
  readonly eventId: string;
  /** The people whose values the state may contain: it opens with the keys of all of them. */
  readonly subjects: readonly SubjectId[];
  readonly sealed: Buffer;
}

/** Where snapshots are stored, one a stream. Each may be dropped at any time. */
export interface SnapshotRows {
  find(stream: string): Promise<SnapshotRow | undefined>;
  /** Takes the place of the stream's earlier one. */
  keep(row: SnapshotRow): Promise<void>;
  drop(stream: string): Promise<void>;
  /** Drops those that may contain values of one of these people. */
  dropOf(subjects: readonly SubjectId[]): Promise<void>;
}
